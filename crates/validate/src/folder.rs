//! Folders of `validation/` whose experiments are data. Their files are part of the program.

/// The files of a suite.
pub(crate) struct Folder {
    /// Name of the suite.
    pub suite: &'static str,
    /// `rows.toml`.
    pub rows: &'static str,
    /// Scenarios, and what they name: file name and text.
    pub files: &'static [(&'static str, &'static str)],
}

macro_rules! folder {
    ($suite:literal: $($file:literal),*) => {
        Folder {
            suite: $suite,
            rows: include_str!(concat!("../../../validation/", $suite, "/rows.toml")),
            files: &[$((
                $file,
                include_str!(concat!("../../../validation/", $suite, "/", $file)),
            )),*],
        }
    };
}

/// All of them.
pub(crate) static FOLDERS: [Folder; 12] = [
    folder!(
        "htsim": "lone-1.cm", "lone-45.cm", "lone-100.cm", "lone-300.cm", "incast-12.cm", "incast-48.cm", "incast-100.cm",
        "permutation-128.cm"
    ),
    folder!(
        "rdma": "long.toml", "dcqcn40.toml", "messages.toml", "loss.toml", "incast-16-64KB.csv", "incast-16-500KB.csv",
        "incast-32-64KB.csv", "incast-32-500KB.csv"
    ),
    folder!("expresspass": "second.toml", "second-dctcp.toml", "into-one.toml"),
    folder!("homa": "racks.toml"),
    folder!("powertcp": "incast.toml", "incast-10.csv", "incast-255.csv"),
    folder!(
        "hiercc": "fig1.toml", "bursts.csv", "fig2.toml", "flows-16.csv", "flows-32.csv", "flows-64.csv", "flows-128.csv", "flows-256.csv",
        "fig4.toml", "two-bursts.csv", "two-bursts-dealt.csv", "fig5.toml", "law.toml", "new.toml", "alone.toml", "round-trip.toml"
    ),
    folder!(
        "ndp": "outcast.toml", "incast.toml", "incast-12.csv", "incast-48.csv", "incast-100.csv", "permutation.toml"
    ),
    folder!(
        "aeolus": "expresspass.toml", "homa.toml", "ndp.toml", "ndp-aeolus.toml", "testbed.toml", "one-20.csv", "one-30.csv",
        "one-40.csv", "one-50.csv", "many-20.csv", "many-30.csv", "many-40.csv", "many-50.csv"
    ),
    folder!("hostcc": "testbed.toml", "rpcs.toml", "pictures.toml", "sensitivity.toml"),
    folder!(
        "pcc-dilemma": "ndp.toml", "homa.toml", "expresspass.toml", "aeolus.toml", "hpcc.toml", "dcqcn.toml"
    ),
    folder!(
        "tcp-nv": "table.toml", "router.toml", "rack.toml", "pause.toml", "sort.toml", "mixed.toml", "reverse.toml",
        "lone.toml", "pacing.toml", "short.toml", "unfair.toml", "range.toml", "hosts.toml"
    ),
    folder!("carc": "mixed.toml", "alone.toml", "echo.toml", "idle.toml", "tension.toml"),
];

impl Folder {
    /// The folder of a suite.
    pub fn of(suite: &str) -> &'static Self {
        FOLDERS.iter().find(|folder| folder.suite == suite).expect("it is one of them")
    }

    /// The text of a file. The error is the end of a sentence.
    pub fn file(&self, name: &str) -> Result<&'static str, String> {
        let found = self.files.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| *text).ok_or_else(|| {
            format!("is not among the files of validation/{}; add it in folder.rs", self.suite)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// What Python writes and reads, and rows, which each folder has.
    const OTHERS: [&str; 7] = [
        "rows.toml",
        "seeds.toml",
        "verdicts.toml",
        "whole.toml",
        "measured.toml",
        "record.py",
        "idmap.txt",
    ];

    #[test]
    fn every_file_of_a_folder_is_part_of_the_program() {
        for folder in &FOLDERS {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation");
            let files = std::fs::read_dir(path.join(folder.suite)).expect("the folder is there");
            let names = files.map(|file| file.expect("it reads").file_name());
            let names: BTreeSet<String> =
                names.map(|name| name.to_string_lossy().into_owned()).collect();
            let known = folder.files.iter().map(|(name, _)| name.to_string());
            let known: BTreeSet<String> = known.chain(OTHERS.map(String::from)).collect();
            let missing: Vec<&String> = names.difference(&known).collect();
            assert!(missing.is_empty(), "{}: add to folder.rs {missing:?}", folder.suite);
        }
    }
}
