//! Runs the program in a folder of its own and looks at what it did.

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A folder for one test, removed at its end.
pub struct Scratch {
    pub path: PathBuf,
}

impl Scratch {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("iglu-cli-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self { path }
    }

    /// Writes a file.
    pub fn file(&self, name: &str, contents: &[u8]) {
        fs::write(self.path.join(name), contents).unwrap();
    }

    /// Reads a file.
    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Names in the folder, sorted.
    pub fn names(&self) -> Vec<String> {
        self.names_in(".")
    }

    /// Names in a folder in it, sorted.
    pub fn names_in(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path.join(folder)).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The folder of the only run that was given none, relative to this one.
    pub fn only_run(&self) -> String {
        let entries = fs::read_dir(self.path.join("runs")).unwrap();
        let names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(names.len(), 1, "{names:?}");
        format!("runs/{}", names[0])
    }

    /// Runs `iglu` with these arguments, separated by blanks.
    pub fn iglu(&self, args: &str) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_iglu"));
        command.args(args.split_whitespace());
        self.run(command, args)
    }

    /// Runs a line of shell in which `$IGLU` is the program.
    #[cfg(unix)]
    pub fn shell(&self, line: &str) -> Ended {
        let mut command = Command::new("sh");
        command.args(["-c", line]).env("IGLU", env!("CARGO_BIN_EXE_iglu"));
        self.run(command, line)
    }

    fn run(&self, mut command: Command, args: &str) -> Ended {
        let out = command.current_dir(&self.path).stdin(Stdio::null()).output().unwrap();
        Ended {
            args: args.to_string(),
            code: out.status.code(),
            stdout: String::from_utf8(out.stdout).unwrap(),
            stderr: String::from_utf8(out.stderr).unwrap(),
        }
    }

    /// Writes a graph without labels and splits.
    pub fn bare(&self, source: &str, name: &str) {
        let made = source.strip_prefix("synth:").unwrap();
        self.iglu(&format!("synth {made} --out labelled.npz")).check(0, &[]);
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(self.read("labelled.npz"))).unwrap();
        let mut bare = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for name in ["edges.npy", "x.npy"] {
            bare.raw_copy_file(archive.by_name(name).unwrap()).unwrap();
        }
        self.file(name, &bare.finish().unwrap().into_inner());
    }

    /// Runs `iglu`, which must succeed and print one JSON object.
    pub fn json(&self, args: &str) -> Value {
        let ended = self.iglu(args).check(0, &[]);
        serde_json::from_str(&ended.stdout).unwrap_or_else(|e| panic!("{args}: {e}\n{}", ended.stdout))
    }

    /// What `iglu inspect` tells of some data, and apart from it the bytes that training will take: they depend on how
    /// the data is read.
    pub fn cards<const N: usize>(&self, data: [&str; N]) -> ([Value; N], [u64; N]) {
        let mut cards = data.map(|data| self.json(&format!("inspect {data} --json")));
        let bytes = cards.each_mut().map(|card| card["train_bytes_estimate"].take());
        (cards, bytes.map(|b| b.as_u64().expect("an estimate in bytes")))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// What a run left behind.
#[derive(Debug)]
pub struct Ended {
    pub args: String,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// Exit code as expected and all of these texts on stderr; a failure prints no result.
    pub fn check(self, code: i32, stderr: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "iglu {}\n{}{}", self.args, self.stdout, self.stderr);
        for part in stderr {
            assert!(self.stderr.contains(part), "iglu {}: expected `{part}` in\n{}", self.args, self.stderr);
        }
        if code != 0 {
            assert_eq!(self.stdout, "", "iglu {}", self.args);
            assert!(!self.stderr.is_empty(), "iglu {} failed without a word", self.args);
        }
        self
    }

    /// All of these texts on stdout.
    pub fn says(self, stdout: &[&str]) -> Self {
        for part in stdout {
            assert!(self.stdout.contains(part), "iglu {}: expected `{part}` in\n{}", self.args, self.stdout);
        }
        self
    }
}
