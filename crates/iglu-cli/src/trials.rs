//! What is tried out before the first epoch, by the keys that may be left to the data.

use iglu::Result;
use iglu::config::Config;
use serde_json::{Map, Value};

/// Keys that trials decide, by table.
const KEYS: [(&str, &str); 5] = [
    ("network", "operator"),
    ("train", "lazy_dropout"),
    ("train", "start"),
    ("train", "start_epochs"),
    ("train", "start_dropout"),
];

/// Their values in a configuration.
pub fn values(config: &Config) -> Result<Map<String, Value>> {
    let all = serde_json::to_value(config)
        .map_err(|e| iglu::Error::output("configuration", e.to_string(), "report this"))?;
    let one = |(table, key): (&str, &str)| (key.to_string(), all[table][key].clone());
    Ok(KEYS.map(one).into_iter().collect())
}

/// Those that are not as they were in the trial before, as `key=value`; of the first trial the first two.
pub fn changed(now: &Map<String, Value>, before: Option<&Map<String, Value>>) -> String {
    let new = |(_, key): &(&str, &str)| match before {
        Some(before) => now.get(*key) != before.get(*key),
        None => KEYS[..2].iter().any(|(_, first)| first == key),
    };
    let text = |(_, key): &(&str, &str)| match &now[*key] {
        Value::String(value) => format!("{key}={value}"),
        other => format!("{key}={other}"),
    };
    KEYS.iter().filter(|k| new(k)).map(text).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use iglu::Norm;
    use iglu::config::{Auto, LazyDropout};

    #[test]
    fn only_what_changes_from_trial_to_trial_is_named() {
        let mut config = Config::default();
        (config.network.operator, config.train.lazy_dropout) =
            (Auto::Set(Norm::Mean), Auto::Set(LazyDropout::Off));
        let first = values(&config).unwrap();
        config.network.operator = Auto::Set(Norm::Sym);
        let second = values(&config).unwrap();
        config.train.start_dropout = Auto::Set(0.5);
        let third = values(&config).unwrap();
        assert_eq!(changed(&first, None), "operator=mean lazy_dropout=off");
        assert_eq!(changed(&second, Some(&first)), "operator=sym");
        assert_eq!(changed(&third, Some(&second)), "start_dropout=0.5");
        assert_eq!(changed(&third, Some(&third)), "");
    }
}
