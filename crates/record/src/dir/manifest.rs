//! `manifest.json`: what the run was, independent of where and how fast it ran.

use super::EmptyTable;
use crate::about::{FaultSpan, RunStart};
use crate::columns::IDEAL_FCT_DEFINITION;
use crate::summary::{FCT_DEFINITION, QUANTILE_DEFINITION};
use forebay_units::{Bytes, Time};
use serde::{Deserialize, Serialize};

/// Version of the layout of the manifest and the tables.
pub const MANIFEST_FORMAT: u32 = 1;

const CONFIDENCE_DEFINITION: &str = "95 % by Student's t over per-seed values; none from fewer than 3 \
seeds";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub format: u32,
    pub program: String,
    pub version: String,
    pub scenario: String,
    pub laws: Vec<String>,
    /// `running`, `complete`, `interrupted` or `failed`.
    pub status: String,
    pub digest: Option<String>,
    pub seeds: Vec<u64>,
    pub warmup_ps: u64,
    pub size_classes_bytes: Vec<u64>,
    pub traffic: Vec<String>,
    pub settings: Vec<Setting>,
    /// As [`RunStart::faults`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    pub definitions: Definitions,
    pub rerun: String,
    pub files: Vec<FileRows>,
    pub empty_files: Vec<EmptyTable>,
    pub resolved_toml: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Setting {
    pub key: String,
    pub value: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fault {
    pub what: String,
    pub from_ps: u64,
    pub to_ps: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Definitions {
    pub fct: String,
    pub ideal_fct: String,
    pub quantile: String,
    pub confidence_interval: String,
    pub release: String,
    /// As [`RunStart::comparison`].
    #[serde(default)]
    pub comparison: Vec<Setting>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FileRows {
    pub file: String,
    pub rows: u64,
    /// Rows of samples that an interrupt left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(of: &u64) -> bool {
    *of == 0
}

fn pairs(of: &[(String, String)]) -> Vec<Setting> {
    of.iter().map(|(key, value)| Setting { key: key.clone(), value: value.clone() }).collect()
}

fn fault(span: &FaultSpan) -> Fault {
    let (from_ps, to_ps) = (span.from.as_ps(), span.to.map(Time::as_ps));
    Fault { what: span.what.clone(), from_ps, to_ps }
}

fn span(fault: Fault) -> FaultSpan {
    let to = fault.to_ps.map(Time::from_ps);
    FaultSpan { what: fault.what, from: Time::from_ps(fault.from_ps), to }
}

impl Manifest {
    pub fn new(about: &RunStart) -> Self {
        Self {
            format: MANIFEST_FORMAT,
            program: "forebay".into(),
            version: about.version.clone(),
            scenario: about.scenario.clone(),
            laws: about.laws.clone(),
            status: "running".into(),
            digest: None,
            seeds: about.seeds.clone(),
            warmup_ps: about.warmup.as_ps(),
            size_classes_bytes: about.size_classes.iter().map(|bytes| bytes.get()).collect(),
            traffic: about.traffic.clone(),
            settings: pairs(&about.settings),
            faults: about.faults.iter().map(fault).collect(),
            definitions: Definitions {
                fct: FCT_DEFINITION.into(),
                ideal_fct: IDEAL_FCT_DEFINITION.into(),
                quantile: QUANTILE_DEFINITION.into(),
                confidence_interval: CONFIDENCE_DEFINITION.into(),
                release: about.release.clone(),
                comparison: pairs(&about.comparison),
            },
            rerun: about.rerun().into(),
            files: Vec::new(),
            empty_files: Vec::new(),
            resolved_toml: about.resolved_toml.clone(),
        }
    }

    pub fn about(self) -> RunStart {
        RunStart {
            scenario: self.scenario,
            version: self.version,
            laws: self.laws,
            seeds: self.seeds,
            warmup: Time::from_ps(self.warmup_ps),
            traffic: self.traffic,
            size_classes: self.size_classes_bytes.into_iter().map(Bytes::new).collect(),
            resolved_toml: self.resolved_toml,
            settings: self.settings.into_iter().map(|s| (s.key, s.value)).collect(),
            comparison: self.definitions.comparison.into_iter().map(|s| (s.key, s.value)).collect(),
            release: self.definitions.release,
            faults: self.faults.into_iter().map(span).collect(),
            lacks: Vec::new(),
            rerun: Some(self.rerun),
            columnar: None, // the files are written
        }
    }
}
