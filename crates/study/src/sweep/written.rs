//! `sweep.json`, read back.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A sweep as its `sweep.json` has it.
#[derive(Debug, Deserialize)]
pub struct WrittenSweep {
    /// Title of the scenario.
    pub scenario: String,
    /// The keys that vary.
    pub keys: Vec<String>,
    /// Combinations of their values.
    pub points: Vec<WrittenPoint>,
}

/// One combination.
#[derive(Debug, Deserialize)]
pub struct WrittenPoint {
    settings: BTreeMap<String, String>,
    runs: BTreeMap<u64, String>,
}

impl WrittenSweep {
    /// Reads `sweep.json`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }
}

impl WrittenPoint {
    /// The value of each key, as TOML text.
    pub fn settings(&self, keys: &[String]) -> Vec<(String, String)> {
        let of = |key: &String| (key.clone(), self.settings.get(key).cloned().unwrap_or_default());
        keys.iter().map(of).collect()
    }

    /// Name of the run of each seed, in the order of the seeds.
    pub fn runs(&self) -> impl Iterator<Item = &str> {
        self.runs.values().map(String::as_str)
    }
}
