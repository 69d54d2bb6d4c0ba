//! Makes a synthetic graph, says how long it took, and writes it if a second argument names a file.
//!
//!     cargo run --release -p iglu-data --example synth -- products@0.1 [out.npz]

#![expect(clippy::print_stdout, reason = "this is what the example is for")]

use iglu_data::{Card, LoadOptions, load, write_plain};
use std::path::Path;
use std::time::Instant;

fn main() -> iglu::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "village".to_string());
    let start = Instant::now();
    let data = load(&format!("synth:{name}"), &LoadOptions::default())?;
    println!("made in {:.2} s", start.elapsed().as_secs_f64());
    println!("{}", Card::of(&data));
    if let Some(path) = arguments.next() {
        let start = Instant::now();
        write_plain(Path::new(&path), &data)?;
        println!("written in {:.2} s", start.elapsed().as_secs_f64());
        let start = Instant::now();
        let back = load(&path, &LoadOptions::default())?;
        println!("read back in {:.2} s, equal: {}", start.elapsed().as_secs_f64(), back.graph == data.graph);
    }
    Ok(())
}
