//! Architectures and the flags that shape them.

use crate::harness::Scratch;

#[test]
fn every_architecture_is_reached_by_flags() {
    let scratch = Scratch::new("architectures");
    let help = scratch.iglu("train --help").check(0, &[]).stdout;
    let names =
        help.split("Architecture of the graph layers:").nth(1).unwrap().split("--layers").next().unwrap();
    for name in ["gcn", "sage", "saint", "gin", "gat", "gcnii", "appnp", "pna", "virtual", "linear"] {
        assert!(names.contains(&format!("  {name} ")), "{name} in {names}");
        let flags =
            "--hidden 16 --layers 3 --heads 2 --activation gelu --frequency 0.5 --jump concat --hops 2";
        let more = "--skips 1->3 --residual --epochs 2 --batch 256 --order backprop --quiet --json";
        let run = scratch.json(&format!("train synth:village@0.1 --layer {name} {flags} {more}"));
        let network = &run["config"]["network"];
        assert_eq!((&network["layer"], &network["residual"]), (&name.into(), &true.into()));
        assert!(run["val"].is_f64(), "{name}");
    }
    scratch.iglu("train --layer rgcn").check(64, &["rgcn", "one kind of edges"]);
    scratch.iglu("train --layer gat --heads 3 --hidden 64").check(64, &["64 columns for 3 heads"]);
    scratch.iglu("train --skips 3->1").check(64, &["`3->1`", "no skip connection"]);
    scratch.iglu("plan --jump sum").check(64, &["--jump: network.jump", "`concat`"]);
    scratch.iglu("plan --residual=maybe").check(64, &["--residual: network.residual", "true or false"]);
}

/// The page has a section for every architecture that the help lists, and its commands run.
#[test]
fn the_page_of_architectures_is_complete_and_runs() {
    let page = include_str!("../../../../docs/architectures.md");
    let scratch = Scratch::new("architectures-page");
    let help = scratch.iglu("train -h").check(0, &[]).stdout;
    let names = help.split("Architecture of the graph layers: ").nth(1).unwrap().split("--").next().unwrap();
    for name in names.split(',').map(str::trim) {
        assert!(page.contains(&format!("\n## {name}\n")), "docs/architectures.md has no section `{name}`");
    }
    let commands: Vec<&str> = page.lines().filter_map(|l| l.strip_prefix("iglu train --layer ")).collect();
    for rest in &commands {
        scratch.iglu(&format!("train synth:village@0.1 --quiet --epochs 1 --layer {rest}")).check(0, &[]);
    }
    assert_eq!(commands.len(), 10, "one for every architecture but rgcn, which needs data of its own");
}
