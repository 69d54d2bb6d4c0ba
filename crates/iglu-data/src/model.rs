//! Trained networks in files: safetensors with float32 tensors, and all else in one JSON text of the metadata.
//!
//! Under the metadata key `iglu` stands `{"config": TOML text, "format": "iglu-model", "shape": {..},
//! "version": 1}`. One key, because the library writes several in random order and equal models shall be equal
//! files; for the same reason the number of threads is not kept. Weights are read with suspicion: what is not a
//! whole, finite network of the declared shape is refused.

use crate::weights::{self, Weights};
use crate::{output, quoted};
use iglu::config::Config;
use iglu::model::{Model, ModelShape};
use iglu::network::Network;
use iglu::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// Metadata key of [`About`].
const KEY: &str = "iglu";
const FORMAT: &str = "iglu-model";
/// Version written, and the newest that is read.
const VERSION: u32 = 1;
/// Longest header read; that of a large network has a few kilobytes.
const LONGEST_HEADER: u64 = 1 << 20;

/// What a file says of its tensors; fields in alphabetical order.
#[derive(Serialize, Deserialize)]
struct About {
    config: String,
    format: String,
    shape: ModelShape,
    version: u32,
}

/// The part of [`About`] that every version will have.
#[derive(Deserialize)]
struct Kind {
    format: String,
    version: u32,
}

/// Writes a model, replacing an old file only when all is on disk. Equal models give equal bytes.
pub fn save(path: &Path, model: &Model) -> Result<()> {
    let weights = written(model).map_err(|e| e.within(&quoted(path)))?;
    output::replace(path, |sink| weights.write(sink))
}

/// Reads a model; errors name the file and, where it has one, the tensor.
pub fn load(path: &Path) -> Result<Model> {
    read_bytes(path).and_then(|bytes| parse(&bytes)).map_err(|e| e.within(&quoted(path)))
}

/// Writes a text that belongs to a model, its configuration say, with the same care.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    output::replace(path, |sink| sink.write_all(text.as_bytes()))
}

/// The bytes of a model's file. Equal models give equal bytes.
pub fn to_bytes(model: &Model) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    written(model)?.write(&mut bytes).map_err(|e| weights::unwritable(&e))?;
    Ok(bytes)
}

fn written(model: &Model) -> Result<Weights<'_>> {
    Weights::new(model.tensors(), Some((KEY, about(model)?)))
}

/// The JSON text of the metadata.
fn about(model: &Model) -> Result<String> {
    let config = Config { threads: 0, ..model.config().clone() };
    let config = toml::to_string(&config).map_err(|e| weights::unwritable(&e))?;
    let about = About { config, format: FORMAT.to_string(), shape: model.shape(), version: VERSION };
    serde_json::to_string(&about).map_err(|e| weights::unwritable(&e))
}

/// Reads the whole file once its first bytes promise a header of sensible size.
fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    let mut file = open(path)?;
    let mut bytes = Vec::new();
    (&mut file).take(16).read_to_end(&mut bytes).map_err(|e| unreadable(&e))?;
    check_start(&bytes)?;
    file.read_to_end(&mut bytes).map_err(|e| unreadable(&e))?;
    Ok(bytes)
}

fn open(path: &Path) -> Result<File> {
    let about = path.metadata().map_err(|e| unreadable(&e))?;
    if !about.is_file() {
        let found = "this is a folder, a pipe or a device; expected a file";
        return Err(Error::data("", found, "name the best.safetensors of a run"));
    }
    File::open(path).map_err(|e| unreadable(&e))
}

fn unreadable(e: &io::Error) -> Error {
    Error::missing("", format!("cannot be read: {e}"), "name the best.safetensors of a run")
}

/// The length of the header, then a brace: so begins every safetensors file.
fn check_start(head: &[u8]) -> Result<()> {
    if head.is_empty() {
        return Err(Error::data("", "0 bytes: the file is empty", "train again, or fetch it again"));
    }
    let Some((length, rest)) = head.split_first_chunk() else {
        return Err(no_safetensors(&format!("only {} bytes", head.len())));
    };
    let length = u64::from_le_bytes(*length);
    match rest.first() {
        Some(b'{') if length <= LONGEST_HEADER => Ok(()),
        Some(b'{') => {
            let found = format!("the header claims {length} bytes; at most {LONGEST_HEADER} are read");
            Err(Error::data("", found, "the file is damaged, or no model of iglu"))
        }
        _ => Err(no_safetensors(&format!("it starts with \"{}\"", head.escape_ascii()))),
    }
}

fn no_safetensors(found: &str) -> Error {
    Error::data("", format!("not a safetensors file: {found}"), "name the best.safetensors of a run")
}

/// The model in the bytes of a file.
pub fn from_bytes(bytes: &[u8]) -> Result<Model> {
    check_start(&bytes[..bytes.len().min(16)])?;
    parse(bytes)
}

/// The model in bytes whose start has been checked.
fn parse(bytes: &[u8]) -> Result<Model> {
    let header = weights::header(bytes)?;
    let about = parse_about(header.metadata().as_ref().and_then(|m| m.get(KEY)))?;
    let config = parse_config(&about.config)?;
    check_size(&config, about.shape, header.data_len())?;
    Model::from_tensors(&config, about.shape, weights::tensors(bytes, finite)?)
}

fn parse_about(text: Option<&String>) -> Result<About> {
    let foreign = |found: String| Error::data("", found, "only models saved by iglu can be read");
    let Some(text) = text else {
        return Err(foreign(format!("a safetensors file without the metadata `{KEY}`")));
    };
    let strange = |e: serde_json::Error| foreign(format!("metadata `{KEY}`: {e}"));
    let kind: Kind = serde_json::from_str(text).map_err(strange)?;
    if kind.format != FORMAT {
        return Err(foreign(format!("metadata `{KEY}`: format `{}`; expected `{FORMAT}`", kind.format)));
    }
    if kind.version > VERSION {
        let found =
            format!("version {} of the format; this program reads up to version {VERSION}", kind.version);
        return Err(Error::data("", found, "the model was made by a newer iglu: update this one"));
    }
    serde_json::from_str(text).map_err(strange)
}

fn parse_config(text: &str) -> Result<Config> {
    let config: Config = toml::from_str(text).map_err(|e| {
        Error::data(
            "config",
            e.message().to_string(),
            "the model was made by another version of iglu: train it again",
        )
    })?;
    let wrong = |e: Error| {
        Error::data("config", e.to_string(), "the file is damaged: train again, or fetch it again")
    };
    config.validate().map_err(wrong)?;
    Ok(config)
}

/// Refuses a network that has more weights than the file, before memory is taken for them.
fn check_size(config: &Config, shape: ModelShape, bytes: usize) -> Result<()> {
    // Every feature, class and relation has weights of its own: more of them than bytes are not worth counting.
    let ends = [shape.features, shape.classes, shape.relations, shape.latent];
    let counted = ends.into_iter().all(|n| n <= bytes);
    let weights = if counted { Network::size(&config.network, &shape)? } else { usize::MAX };
    if weights <= bytes / size_of::<f32>() {
        return Ok(());
    }
    let found = format!(
        "{bytes} bytes of tensors; {} {} layers from {} features to {} classes have more numbers",
        config.network.layers, config.network.layer, shape.features, shape.classes
    );
    Err(Error::data("", found, "the file is damaged: train again, or fetch it again"))
}

/// Refuses numbers that are not finite, with their place.
fn finite(cols: usize, values: &[f32]) -> Result<()> {
    let Some(at) = values.iter().position(|v| !v.is_finite()) else { return Ok(()) };
    let found = format!("row {}, column {}: {}; expected finite numbers", at / cols, at % cols, values[at]);
    Err(Error::data("", found, "the model is damaged or diverged: train again"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iglu::config::Auto;
    use iglu::observe::Silent;
    use safetensors::tensor::{Dtype, TensorView, serialize};

    /// A small trained network; `threads` must leave no trace.
    fn trained(threads: usize) -> Model {
        let data = crate::load("synth:village@0.05", &crate::LoadOptions::default()).unwrap();
        let mut config = Config { threads, ..Config::default() };
        config.network.hidden = Auto::Set(4);
        config.train.epochs = Auto::Set(1);
        iglu::run::fit(&config, &data, &mut Silent).unwrap().model
    }

    /// A file with one tensor and this metadata.
    fn file_with(metadata: &[(&str, &str)], shape: &[usize], values: &[f32]) -> Vec<u8> {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let view = TensorView::new(Dtype::F32, shape.to_vec(), &bytes).unwrap();
        let metadata = metadata.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        serialize([("w", view)], Some(metadata)).unwrap()
    }

    /// The metadata of a real model with one field changed.
    fn about_with(key: &str, value: serde_json::Value) -> String {
        let mut about: serde_json::Value = serde_json::from_str(&about(&trained(0)).unwrap()).unwrap();
        about[key] = value;
        about.to_string()
    }

    fn check(bytes: &[u8], expect: &str) {
        let folder = format!("bad-model-{:?}", std::thread::current().id());
        let path = crate::testing::folder(&folder).join("m.safetensors");
        std::fs::write(&path, bytes).unwrap();
        let e = load(&path).err().unwrap_or_else(|| panic!("accepted; expected {expect}"));
        assert_eq!(e.exit_code(), 65, "{e}");
        assert!(e.to_string().contains(expect) && e.to_string().contains("fix: "), "{e}\nexpected {expect}");
    }

    #[test]
    fn a_model_comes_back_whole_and_equal_models_are_equal_files() {
        let model = trained(0);
        let path = crate::testing::folder("model").join("m.safetensors");
        save(&path, &model).unwrap();
        let back = load(&path).unwrap();
        assert_eq!(back.tensors(), model.tensors());
        assert_eq!((back.config(), back.shape().classes), (model.config(), model.shape().classes));
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(to_bytes(&back).unwrap(), bytes);
        assert_eq!(to_bytes(&trained(7)).unwrap(), bytes);
        let data = crate::load("synth:village@0.05", &crate::LoadOptions::default()).unwrap();
        let [old, new] = [&model, &back].map(|m| m.predict(&data).unwrap());
        assert_eq!(old, new);
    }

    #[test]
    fn every_truncation_is_refused() {
        let bytes = to_bytes(&trained(0)).unwrap();
        for length in (0..200).chain((200..bytes.len()).step_by(997)).chain([bytes.len() - 1]) {
            assert!(from_bytes(&bytes[..length]).is_err(), "{length} of {} bytes accepted", bytes.len());
        }
        assert!(from_bytes(&[&bytes[..], b"more"].concat()).is_err());
    }

    #[test]
    fn bad_files_are_named_for_what_they_are() {
        check(b"", "0 bytes");
        check(b"PK", "only 2 bytes");
        check(b"<!doctype html><html>", "not a safetensors file: it starts with \"<!doctype html><");
        check(&[&[0xff; 7][..], &[0x7f], b"{}      "].concat(), "at most 1048576 are read");
        check(&[&(2u64 << 20).to_le_bytes()[..], b"{}      "].concat(), "the header claims 2097152 bytes");
        check(&[&8u64.to_le_bytes()[..], b"{nojson}"].concat(), "damaged safetensors file");
        check(&file_with(&[], &[1, 1], &[0.0]), "without the metadata `iglu`");
        check(&file_with(&[("iglu", "[")], &[1, 1], &[0.0]), "metadata `iglu`: EOF");
        check(&file_with(&[("iglu", r#"{"format":"x","version":1}"#)], &[1, 1], &[0.0]), "format `x`");
        let newer = r#"{"format":"iglu-model","version":2,"novelty":true}"#;
        check(&file_with(&[("iglu", newer)], &[1, 1], &[0.0]), "made by a newer iglu");
    }

    #[test]
    fn bad_contents_are_refused_with_their_place() {
        let check_config = |config: &str, expect: &str| {
            check(&file_with(&[("iglu", &about_with("config", config.into()))], &[1, 1], &[0.0]), expect);
        };
        check_config("colour = 1", "config: unknown field `colour`");
        check_config(
            "[network]\nlayers = 256\nhidden = 65536",
            "4 bytes of tensors; 256 sage layers from 32 features",
        );
        check_config("[network]\nhidden = 0", "config: network.hidden: 0; expected 1 to 65536");
        let large = about_with(
            "shape",
            serde_json::json!({"features": 1_u64 << 60, "classes": 1, "multi_label": false}),
        );
        check(
            &file_with(&[("iglu", &large)], &[1, 1], &[0.0]),
            "2 sage layers from 1152921504606846976 features",
        );
        let good = about_with("version", 1.into());
        let check_tensor = |shape: &[usize], values: &[f32], expect: &str| {
            check(&file_with(&[("iglu", &good)], shape, values), expect);
        };
        let enough = vec![0.0; 1000];
        check_tensor(&[1000], &enough, "tensor `w`: F32 [1000]; expected F32 with two dimensions");
        check_tensor(
            &[500, 2],
            &[&enough[..999], &[f32::NAN]].concat(),
            "tensor `w`: row 499, column 1: NaN",
        );
        check_tensor(
            &[1, 1000],
            &[&[f32::INFINITY], &enough[1..]].concat(),
            "tensor `w`: row 0, column 0: inf",
        );
        check_tensor(&[10, 100], &enough, "this tensor is missing");
    }

    #[test]
    fn a_model_that_is_not_there_is_missing_and_a_folder_is_none() {
        let folder = crate::testing::folder("no-model");
        assert_eq!(load(&folder.join("m.safetensors")).err().unwrap().exit_code(), 66);
        assert_eq!(load(&folder).err().unwrap().exit_code(), 65);
    }
}
