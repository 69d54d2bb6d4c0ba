use super::*;
use iglu::config::{Auto, Batch, Order};
use iglu::layers::Jump;
use iglu::{Activation, Storage};

/// The configuration that `--set` entries give.
fn set(entries: &[&str]) -> Result<Config> {
    let set = entries.iter().map(ToString::to_string).collect();
    SettingsArgs { set, ..SettingsArgs::default() }.resolve()
}

/// The message for a configuration that cannot be used.
fn check(result: Result<Config>, expect: &[&str]) {
    let e = result.map(|_| ()).expect_err("accepted");
    assert_eq!(e.exit_code(), 64, "{e}");
    for part in expect {
        assert!(e.to_string().contains(part), "{e}\nexpected {part}");
    }
}

/// A configuration file with this text, and flags.
fn with_file(name: &str, text: &str, args: SettingsArgs) -> Result<Config> {
    let path = std::env::temp_dir().join(format!("iglu-settings-{}-{name}.toml", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let config = SettingsArgs { config: Some(path.clone()), ..args }.resolve();
    std::fs::remove_file(&path).unwrap();
    config
}

#[test]
fn nothing_given_gives_the_defaults() {
    assert_eq!(SettingsArgs::default().resolve().unwrap(), Config::default());
}

#[test]
fn keys_are_dotted_or_leaves_and_values_need_no_quotes() {
    let config = set(&[
        "train.lambda=0.25",
        "lr = 1",
        "order=backprop",
        "batch=full",
        "epochs=7",
        "skips=[\"0->2\"]",
        "bias=false",
        "seed=9",
    ])
    .unwrap();
    assert_eq!((config.train.lambda, config.optim.lr, config.seed), (0.25, 1.0, 9));
    assert_eq!((config.train.order, config.train.batch), (Order::Backprop, Batch::Full));
    assert_eq!((config.train.epochs, config.network.bias), (Auto::Set(7), false));
    assert_eq!(config.network.skips, ["0->2"]);
}

#[test]
fn later_layers_win() {
    let text = "seed = 1\nthreads = 1\n[optim]\nlr = 0.1\n[network]\nhidden = 8\n";
    let flags =
        || SettingsArgs { lr: Some("0.2".into()), hidden: Some("16".into()), ..SettingsArgs::default() };
    let config =
        with_file("win", text, SettingsArgs { set: vec!["lr=0.3".into(), "seed=4".into()], ..flags() })
            .unwrap();
    assert_eq!(
        (config.optim.lr, config.network.hidden, config.seed, config.threads),
        (0.3, Auto::Set(16), 4, 1)
    );
    assert_eq!(set(&["lr=1", "lr=2"]).unwrap().optim.lr, 2.0);
}

#[test]
fn a_recipe_is_beaten_by_everything_but_defaults() {
    let recipe = || SettingsArgs::of_recipe("ppi-large");
    let plain = recipe().resolve().unwrap();
    assert_eq!((plain.optim.lr, plain.train.epochs), (5e-2, Auto::Set(300)));
    assert_eq!((plain.network.hidden, plain.train.batch), (Auto::Set(512), Batch::Size(1024)));
    assert_eq!(plain.optim.beta1, Config::default().optim.beta1);
    let text = "[optim]\nlr = 0.1\n[train]\nepochs = 2\nbatch = 7\n";
    let args = SettingsArgs { epochs: Some("3".into()), set: vec!["batch=9".into()], ..recipe() };
    let config = with_file("recipe", text, args).unwrap();
    assert_eq!((config.optim.lr, config.network.hidden), (0.1, Auto::Set(512)));
    assert_eq!((config.train.epochs, config.train.batch), (Auto::Set(3), Batch::Size(9)));
}

#[test]
fn a_recipe_is_a_file_like_any_other() {
    for recipe in recipes::RECIPES {
        let config = with_file(recipe.name, recipe.text, SettingsArgs::default()).unwrap();
        assert_eq!(config, recipe.config().unwrap(), "{}", recipe.name);
        assert_ne!(config, Config::default());
        assert_eq!(config.network.cache, Auto::Set(Storage::F32), "{} rounds", recipe.name);
    }
    check(with_file("about", "recipe = 1\n", SettingsArgs::default()), &["line 1: `recipe`"]);
}

#[test]
fn recipes_and_their_values_are_blamed_by_name() {
    check(
        SettingsArgs::of_recipe("ppi-larg").resolve(),
        &["--recipe: `ppi-larg`", "did you mean `ppi-large`?"],
    );
    check(SettingsArgs::of_recipe("imdb").resolve(), &["`imdb`", "`iglu recipes` lists them"]);
    let schedule = SettingsArgs { set: vec!["rates=[1]".into()], ..SettingsArgs::of_recipe("ppi-large") };
    check(schedule.resolve(), &["recipe `ppi-large`: line ", "optim.milestones: 2 milestones, 1 rates"]);
}

#[test]
fn flags_set_the_keys_of_layers() {
    let args = SettingsArgs {
        activation: Some("gelu".into()),
        heads: Some("4".into()),
        jump: Some("max".into()),
        skips: Some("1->3, 0->2".into()),
        residual: Some("true".into()),
        frequency: Some("0.5".into()),
        layers: Some("3".into()),
        ..SettingsArgs::default()
    };
    let config = args.resolve().unwrap();
    let (n, t) = (&config.network, &config.train);
    assert_eq!((n.activation, n.heads, n.jump), (Activation::Gelu, 4, Auto::Set(Jump::Max)));
    assert_eq!(
        (&n.skips[..], n.residual, t.frequency),
        (&["1->3".to_string(), "0->2".to_string()][..], true, 0.5)
    );
}

#[test]
fn a_written_configuration_reads_back() {
    let mut config = Config { seed: 3, ..Config::default() };
    config.train.epochs = Auto::Set(5);
    config.network.skips = vec!["0->1".into()];
    let text = to_toml(&config).unwrap();
    assert_eq!(with_file("back", &text, SettingsArgs::default()).unwrap(), config);
    assert!(keys_help().contains("  lambda = 0.3\n"), "{}", keys_help());
}

#[test]
fn unknown_keys_name_the_nearest() {
    check(set(&["lamda=1"]), &["--set: `lamda`", "no such key", "did you mean `train.lambda`?"]);
    check(set(&["train.lamda=1"]), &["did you mean `train.lambda`?"]);
    check(set(&["trian.lambda=1"]), &["did you mean `train.lambda`?"]);
    check(set(&["weight-decay=1"]), &["did you mean `optim.weight_decay`?"]);
    check(set(&["colour=1"]), &["`iglu train --help` lists the keys"]);
    check(set(&["network=1"]), &["is a table of keys"]);
    check(set(&["lambda"]), &["has no `=`", "KEY=VALUE"]);
    check(set(&["=1"]), &["no such key"]);
}

#[test]
fn wrong_values_name_key_value_and_what_is_possible() {
    for (entry, expect) in [
        ("layers=two", "network.layers: \"two\"; expected a whole number"),
        ("layers=-1", "network.layers: -1; expected a whole number"),
        ("seed=1.5", "seed: 1.5; expected a whole number"),
        ("lr=fast", "optim.lr: \"fast\"; expected a number"),
        ("bias=1", "network.bias: 1; expected true or false"),
        ("epochs=1.5", "train.epochs: 1.5; expected a whole number of at least 0, or `auto`"),
        ("batch=half", "train.batch: \"half\"; expected a whole number of at least 0, or `auto`, or `full`"),
        ("order=inverse", "expected `inverted`, `inverted-printed`, `backprop`, `exact`"),
        ("head=line", "network.head: \"line\"; expected `linear` or `conv`"),
        ("metric=acc", "expected `accuracy`, `f1-micro`, `f1-macro`, `roc-auc`, or `auto`"),
        ("start=cold", "expected `random`, `mlp`, `hops`, `both`, `tried`, or `auto`"),
        ("cache=f64", "network.cache: \"f64\"; expected `f32` or `bf16`, or `auto`"),
        ("layer=3", "network.layer: 3; expected text"),
        ("each=[{k=1, hiden=3}]", "unknown field `hiden`"),
        ("split=per-class:20", "data.split: \"per-class:20\": `20` has 1 of 3 whole numbers"),
        ("split=-1", "data.split: -1: `-1` is no split; write auto, stored, a number, random:"),
        ("skips=0->2", "network.skips: \"0->2\": invalid type: string"),
    ] {
        check(set(&[entry]), &[expect]);
    }
    check(set(&["order=invertd"]), &["did you mean `inverted`?"]);
}

/// Whoever adds a key that may be `auto` says what else it may be.
#[test]
fn no_key_is_told_to_take_auto_alone() {
    let keys = Keys::new().unwrap();
    for key in keys.all().filter(|key| !key.starts_with("network.each")) {
        let Err(e) = set(&[&format!("{key}=?")]) else { continue };
        assert!(!e.to_string().contains("expected `auto`"), "{e}");
    }
}

#[test]
fn impossible_values_name_flag_and_key() {
    let flag = |args: SettingsArgs| args.resolve();
    let dropout = SettingsArgs { dropout: Some("1.0".into()), ..SettingsArgs::default() };
    check(flag(dropout), &["--dropout: network.dropout: 1;", "less than 1"]);
    check(set(&["lr=nan"]), &["--set: optim.lr: NaN"]);
    check(with_file("lr", "[optim]\n\nlr = -1", SettingsArgs::default()), &["line 3: optim.lr: -1"]);
}

#[test]
fn files_are_blamed_by_line() {
    for (name, text, expect) in [
        (
            "key",
            "seed = 1\n[train]\nlamda = 1\n",
            &["line 3: `train.lamda`", "did you mean `train.lambda`?"][..],
        ),
        ("leaf", "lambda = 1\n", &["line 1: `lambda`", "did you mean `train.lambda`?"]),
        ("table", "[trian]\nlambda = 1\n", &["line 2: `trian.lambda`", "did you mean `train.lambda`?"]),
        ("empty", "\n[trian]\n", &["line 2: `trian`"]),
        ("scalar", "train = 3\n", &["line 1: `train`: is a table of keys"]),
        (
            "type",
            "\n\n[network]\nhidden = \"wide\"\n",
            &["line 4: network.hidden: \"wide\"; expected a whole number"],
        ),
        ("syntax", "seed = \n", &["line 1"]),
        ("twice", "seed = 1\nseed = 2\n", &["line 2", "duplicate key"]),
    ] {
        check(with_file(name, text, SettingsArgs::default()), expect);
    }
}

#[test]
fn a_file_may_have_empty_tables_and_single_layers() {
    let text = "[train]\n[[network.each]]\nk = 1\nhidden = 3\n";
    let config = with_file("each", text, SettingsArgs::default()).unwrap();
    assert_eq!(config.network.each[0].hidden, Some(3));
}

#[test]
fn files_that_cannot_be_configurations_are_refused() {
    let missing = SettingsArgs { config: Some("no/such.toml".into()), ..SettingsArgs::default() };
    assert_eq!(missing.resolve().expect_err("accepted").exit_code(), 66);
    check(with_file("long", &"#".repeat(2 << 20), SettingsArgs::default()), &["longer than 1 MiB"]);
}

/// A row of a table of `docs/configuration.md`.
struct Documented {
    key: String,
    flagged: bool,
    default: Value,
}

/// All keys that the page explains, by its tables.
fn documented() -> Vec<Documented> {
    let page = include_str!("../../../../docs/configuration.md");
    let mut group = String::new();
    let mut out = Vec::new();
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            group = title
                .strip_prefix("`[")
                .map_or_else(String::new, |t| t.trim_end_matches("]`").to_string() + ".");
        }
        let Some(row) = line.strip_prefix("| `") else { continue };
        let mut cells = row.split(" | ");
        let (name, default) = (cells.next().unwrap(), cells.next().unwrap());
        // Operators have a table of their own, without keys.
        let Ok(default) = default.trim_matches('`').parse() else { continue };
        let key = format!("{group}{}", name.split('`').next().unwrap());
        out.push(Documented { key, flagged: name.ends_with(" *"), default });
    }
    out
}

#[test]
fn every_key_is_documented_with_its_default_and_its_flag() {
    let page: Vec<Documented> = documented();
    let keys = Keys::new().unwrap();
    let defaults = Table::try_from(Config::default()).unwrap();
    let command = <SettingsArgs as clap::Args>::augment_args(clap::Command::new("flags"));
    let flags: Vec<String> =
        command.get_arguments().filter_map(|a| a.get_long()).map(|f| f.replace('-', "_")).collect();
    for documented in &page {
        let key = &documented.key;
        assert!(keys.has(key), "docs/configuration.md explains `{key}`, which is no key");
        let (group, leaf) = key.split_once('.').unwrap_or(("", key));
        let table = if group.is_empty() { &defaults } else { defaults[group].as_table().unwrap() };
        assert_eq!(documented.default, table[leaf], "default of `{key}` in docs/configuration.md");
        assert_eq!(documented.flagged, flags.iter().any(|f| f == leaf), "`{key}`: a star means a flag");
    }
    for key in keys.all() {
        assert!(page.iter().any(|d| d.key == key), "docs/configuration.md does not explain `{key}`");
    }
}

#[test]
fn settings_of_single_layers_are_documented() {
    let refused = set(&["each=[{k=1, nothing=1}]"]).expect_err("accepted").to_string();
    let (_, fields) = refused.split_once("expected one of ").expect("a list of fields");
    let page = include_str!("../../../../docs/configuration.md");
    let (_, paragraph) = page.split_once("`each` is a list of tables").expect("a paragraph about `each`");
    let paragraph = paragraph.split("\n\n").next().unwrap();
    let fields: Vec<&str> = fields.split('`').skip(1).step_by(2).collect();
    assert!(fields.len() > 10, "{refused}");
    for field in fields {
        assert!(paragraph.contains(&format!("`{field}`")), "docs/configuration.md: `each` without `{field}`");
    }
}
