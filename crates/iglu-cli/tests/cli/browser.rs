//! Pages in a real browser: nothing on its console, charts in the document, something on the screen.

use crate::harness::Scratch;
use crate::train::SMALL;
use std::path::Path;
use std::process::{Command, Stdio};

const BROWSERS: &[&str] = &["chromium", "chromium-browser", "google-chrome"];

/// The first of the browsers that is installed.
fn browser() -> Option<&'static str> {
    let runs = |name: &&&str| {
        let version =
            Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    };
    BROWSERS.iter().find(runs).copied()
}

/// The document after loading and what the console says.
fn open(browser: &str, page: &Path) -> (String, Vec<String>) {
    let out = headless(browser)
        .args(["--enable-logging=stderr", "--dump-dom"])
        .arg(address(page))
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&out.stderr).into_owned();
    let console = log.lines().filter(|l| l.contains(":CONSOLE")).map(str::to_string).collect();
    (String::from_utf8_lossy(&out.stdout).into_owned(), console)
}

fn headless(browser: &str) -> Command {
    let mut command = Command::new(browser);
    command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
    command.stdin(Stdio::null());
    command
}

fn address(page: &Path) -> String {
    format!("file://{}", page.display())
}

/// Width and height of a PNG file, and its size.
fn screenshot(browser: &str, page: &Path, size: [u32; 2]) -> ([u32; 2], usize) {
    let picture = page.with_extension("png");
    let flags =
        [format!("--window-size={},{}", size[0], size[1]), format!("--screenshot={}", picture.display())];
    headless(browser)
        .args(flags)
        .arg(address(page))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let bytes = std::fs::read(picture).unwrap();
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    ([number(16), number(20)], bytes.len())
}

#[test]
fn pages_open_in_a_browser() {
    let Some(browser) = browser() else {
        eprintln!("skipped: none of {BROWSERS:?} is installed");
        return;
    };
    let scratch = Scratch::new("browser");
    scratch.iglu(&format!("train --quiet --out a {SMALL} --epochs 4")).check(0, &[]);
    scratch.iglu(&format!("train --quiet --out b {SMALL} --order backprop")).check(0, &[]);
    scratch.iglu("report a b --out both.html").check(0, &[]);
    // A page that asks for something from elsewhere is noticed.
    scratch.file("bad.html", b"<!doctype html><script>nowhere()</script>");
    assert!(!open(browser, &scratch.path.join("bad.html")).1.is_empty(), "the console is not seen");
    for (page, charts, parts) in [
        ("a/report.html", 15, &["Confusion matrix", "best 0.", "synth:village"][..]),
        ("both.html", 3, &["order backprop", "baseline"]),
    ] {
        let path = scratch.path.join(page);
        let (document, console) = open(browser, &path);
        assert!(console.is_empty(), "{page}: {console:?}");
        assert!(
            document.matches("</svg>").count() >= charts,
            "{page}: {}",
            document.matches("</svg>").count()
        );
        for part in parts {
            assert!(document.contains(part), "{page}: no {part}");
        }
        for size in [[1280, 900], [500, 900]] {
            let (found, bytes) = screenshot(browser, &path, size);
            assert_eq!(found, size, "{page}");
            assert!(bytes > 20_000, "{page}: an empty screen has few bytes, this one {bytes}");
        }
    }
}
