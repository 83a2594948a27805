//! Models split over several files, as `llama-gguf-split` writes and names them:
//! `NAME-00001-of-00004.gguf`. Any file of a set stands for the whole of it. Owns what makes files
//! belong together; must not know how one file is read.

use super::reader::quoted;
use super::{File, Metadata, TensorInfo};
use crate::Error;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The set that a file's name says it belongs to.
pub(super) struct Set<'a> {
    /// Any of its files.
    path: &'a Path,
    /// `NAME` of the file names.
    name: &'a str,
    /// Its number of files, 1 to 99999: the names have five digits.
    count: usize,
}

impl<'a> Set<'a> {
    /// `None` if the name is not that of a shard.
    pub(super) fn of(path: &'a Path) -> Option<Set<'a>> {
        let stem = path.file_name()?.to_str()?.strip_suffix(".gguf")?;
        let (rest, count) = stem.rsplit_once("-of-")?;
        let (name, number) = rest.rsplit_once('-')?;
        let (number, count) = (five_digits(number)?, five_digits(count)?);
        (1..=count).contains(&number).then_some(Set { path, name, count })
    }

    /// Opens every file of the set and makes one of them, which has the metadata of the first.
    pub(super) fn open(&self) -> Result<File, Error> {
        let absent = (0..self.count).find(|index| !self.shard(*index).exists());
        if let Some(index) = absent {
            let (number, count) = (index + 1, self.count);
            let problem = format!("missing model shard, {number} of {count}: download it again");
            return Err(Error::Model(problem).in_file(&self.shard(index)));
        }
        let open = |index| File::open_part(&self.shard(index));
        let mut files = (0..self.count).map(open).collect::<Result<Vec<File>, Error>>()?;
        for (index, file) in files.iter().enumerate() {
            self.expect(index, file, "split.count", self.count)?;
            self.expect(index, file, "split.no", index)?;
        }
        if self.count > 1 && files[0].metadata().get("general.architecture").is_none() {
            let problem = "general.architecture: missing, the first shard has to say it";
            return Err(Error::Model(problem.to_owned()).in_file(&self.shard(0)));
        }
        let (tensors, by_name) = self.join(&files)?;
        for (index, file) in files.iter().enumerate() {
            self.expect(index, file, "split.tensors.count", tensors.len())?;
        }
        let parts = files.iter().flat_map(|file| file.parts.clone()).collect();
        Ok(File { parts, tensors, by_name, ..files.swap_remove(0) })
    }

    /// The file at `index`, from 0 on.
    fn shard(&self, index: usize) -> PathBuf {
        let Set { path, name, count } = self;
        path.with_file_name(format!("{name}-{:05}-of-{count:05}.gguf", index + 1))
    }

    /// A set of one is as good as a plain file, which has no such keys.
    fn expect(&self, index: usize, file: &File, key: &str, expected: usize) -> Result<(), Error> {
        let check = |metadata: &Metadata| match metadata.unsigned(key)? {
            Some(found) if found == expected as u64 => Ok(()),
            None if self.count == 1 => Ok(()),
            found => {
                let found =
                    found.map_or("it is missing".to_owned(), |found| format!("got {found}"));
                Err(Error::Model(format!(
                    "{key}: expected {expected}, {found}: the shards do not belong together, \
                     download the set again"
                )))
            }
        };
        check(file.metadata()).map_err(|error| error.in_file(&self.shard(index)))
    }

    /// The tensors of all files, and their positions by name.
    fn join(&self, files: &[File]) -> Result<(Vec<TensorInfo>, HashMap<String, usize>), Error> {
        let mut tensors: Vec<TensorInfo> = Vec::new();
        let mut by_name = HashMap::new();
        for (part, file) in files.iter().enumerate() {
            for tensor in file.tensors() {
                if let Some(first) = by_name.insert(tensor.name.clone(), tensors.len()) {
                    let (first, name) = (tensors[first].part, quoted(&tensor.name));
                    let first = self.shard(first);
                    let problem = format!("tensor {name}: given in {} too", first.display());
                    return Err(Error::Model(problem).in_file(&self.shard(part)));
                }
                tensors.push(TensorInfo { part, ..tensor.clone() });
            }
        }
        Ok((tensors, by_name))
    }
}

/// What a model is called by the name of its file, or of any file of its set. `None` if the path
/// has no file name.
pub(crate) fn model_stem(path: &Path) -> Option<String> {
    let set = Set::of(path).map(|set| set.name.to_owned());
    set.or_else(|| Some(path.file_stem()?.to_string_lossy().into_owned()))
}

/// A part of a split model is no model.
pub(super) fn refuse_part(metadata: &Metadata) -> Result<(), Error> {
    let count = metadata.unsigned("split.count")?.unwrap_or(1);
    let index = metadata.unsigned("split.no")?.unwrap_or(0);
    if count <= 1 {
        return Ok(());
    }
    let number = index.saturating_add(1);
    Err(Error::Model(format!(
        "split.count: the file says it is part {number} of {count} of a split model: keep all \
         parts in one folder under their names, NAME-{number:05}-of-{count:05}.gguf for this one, \
         and open it as a set, not merged with cat"
    )))
}

fn five_digits(text: &str) -> Option<usize> {
    let are_digits = text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    are_digits.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Builder, Folder};
    use super::*;
    use proptest::prelude::*;

    /// What a shard says and the tensors it holds, one number each.
    struct Shard {
        no: u16,
        count: u16,
        tensors_count: i32,
        architecture: Option<&'static str>,
        tensors: Vec<(String, f32)>,
    }

    impl Shard {
        fn bytes(&self) -> Vec<u8> {
            let mut builder = Builder::new()
                .key("split.no", self.no)
                .key("split.count", self.count)
                .key("split.tensors.count", self.tensors_count);
            if let Some(architecture) = self.architecture {
                builder = builder.key("general.architecture", architecture);
            }
            for (name, number) in &self.tensors {
                builder = builder.floats(name, &[1], &[*number]);
            }
            builder.build()
        }
    }

    /// A set with these tensors in its shards; they hold 0, 1, 2 and so on.
    fn shards(names: &[Vec<String>]) -> Vec<Shard> {
        let tensors_count = names.iter().map(Vec::len).sum::<usize>() as i32;
        let count = names.len() as u16;
        let mut numbers = (0_u16..).map(f32::from);
        let shard = |(no, names): (usize, &Vec<String>)| Shard {
            no: no as u16,
            count,
            tensors_count,
            architecture: (no == 0).then_some("llama"),
            tensors: names.iter().cloned().zip(&mut numbers).collect(),
        };
        names.iter().enumerate().map(shard).collect()
    }

    /// Four shards and seven tensors. The first holds metadata alone, and the experts of a layer
    /// lie apart: real sets have both.
    fn four_shards() -> Vec<Shard> {
        let names: [&[&str]; 4] = [
            &[],
            &["token_embd.weight", "blk.11.ffn_down_exps.weight"],
            &["blk.11.ffn_gate_exps.weight", "blk.11.ffn_up_exps.weight"],
            &["blk.12.attn_norm.weight", "output_norm.weight", "output.weight"],
        ];
        shards(&names.map(|names| names.iter().map(|name| (*name).to_owned()).collect()))
    }

    fn file_name(index: usize, count: usize) -> String {
        format!("Model-UD-Q4_K_XL-{:05}-of-{count:05}.gguf", index + 1)
    }

    fn write(folder: &Folder, shards: &[Shard]) -> Vec<PathBuf> {
        let name = |index| file_name(index, shards.len());
        let shards = shards.iter().enumerate();
        shards.map(|(index, shard)| folder.write(&name(index), &shard.bytes())).collect()
    }

    /// Of every tensor, its name, its part and its number.
    fn tensors(file: &File) -> Vec<(String, usize, f32)> {
        let number =
            |tensor: &TensorInfo| f32::from_le_bytes((*file.data(tensor)).try_into().unwrap());
        let facts = |tensor: &TensorInfo| (tensor.name.clone(), tensor.part, number(tensor));
        file.tensors().iter().map(facts).collect()
    }

    /// The set of four is refused after `spoil`, whichever shard is opened. In the message `N` is
    /// for the path of shard `N`.
    fn check_refused(test: &str, spoil: impl Fn(&mut Vec<Shard>), message: &str) {
        let folder = Folder::new(test);
        let mut shards = four_shards();
        spoil(&mut shards);
        for path in write(&folder, &shards) {
            let mut error = File::open(&path).unwrap_err().to_string();
            for index in 0..4 {
                let path = folder.path().join(file_name(index, 4));
                error = error.replace(&path.display().to_string(), &(index + 1).to_string());
            }
            assert_eq!(error, message);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// However the tensors are spread, any shard opens all of them, each with its own bytes.
        #[test]
        fn any_shard_gives_the_whole_set(counts in prop::collection::vec(0..4_usize, 1..6)) {
            let folder = Folder::new("whole");
            let mut names = (0..).map(|index| format!("t{index}"));
            let names: Vec<Vec<String>> =
                counts.iter().map(|count| names.by_ref().take(*count).collect()).collect();
            let shards = shards(&names);
            let paths = write(&folder, &shards);
            let expected: Vec<(String, usize, f32)> = shards
                .iter()
                .enumerate()
                .flat_map(|(part, shard)| {
                    shard.tensors.iter().map(move |(name, number)| (name.clone(), part, *number))
                })
                .collect();
            for path in &paths {
                let file = File::open(path).unwrap();
                prop_assert_eq!(tensors(&file), expected.clone());
                let opened = file.parts().iter().filter_map(|part| part.path.clone());
                let found: Vec<_> = opened.collect();
                prop_assert_eq!(&found, &paths);
                let bytes: usize = shards.iter().map(|shard| shard.bytes().len()).sum();
                prop_assert_eq!(file.byte_len(), bytes as u64);
                prop_assert_eq!(file.metadata().unsigned("split.no").unwrap(), Some(0));
            }
        }
    }

    #[test]
    fn names_of_shards() {
        let check = |name: &str, expected: Option<(&str, usize)>| {
            let path = Path::new("models").join(name);
            let set = Set::of(&path).map(|set| (set.name.to_owned(), set.count));
            assert_eq!(set, expected.map(|(name, count)| (name.to_owned(), count)), "{name}");
        };
        check("m-00001-of-00001.gguf", Some(("m", 1)));
        check("a-of-b-00002-of-00013.gguf", Some(("a-of-b", 13)));
        check("m-99999-of-99999.gguf", Some(("m", 99_999)));
        check("best-of-breed.gguf", None);
        check("m-00000-of-00003.gguf", None);
        check("m-00004-of-00003.gguf", None);
        check("m-00000-of-00000.gguf", None);
        check("m-1-of-3.gguf", None);
        check("m-000001-of-000003.gguf", None);
        check("m-+0001-of-00003.gguf", None);
        check("m-00001-of-00003.bin", None);
        assert_eq!(model_stem(Path::new("a/m-00001-of-00003.gguf")).as_deref(), Some("m"));
        assert_eq!(model_stem(Path::new("best-of-breed.gguf")).as_deref(), Some("best-of-breed"));
        assert_eq!(model_stem(Path::new("/")), None);
    }

    #[test]
    fn names_that_are_no_shards_are_plain_files() {
        let folder = Folder::new("plain");
        let plain = Builder::new().floats("t", &[1], &[1.0]).build();
        let names = ["best-of-breed", "m-00000-of-00003", "m-00004-of-00003", "m-00001-of-00001"];
        for name in names {
            let path = folder.write(&format!("{name}.gguf"), &plain);
            let file = File::open(&path).unwrap();
            assert_eq!(file.parts().len(), 1);
            assert_eq!(file.parts()[0].path.as_ref(), Some(&path));
        }
    }

    #[test]
    fn a_missing_shard_is_named_before_any_is_read() {
        let folder = Folder::new("missing");
        let paths = write(&folder, &four_shards());
        std::fs::remove_file(&paths[3]).unwrap();
        std::fs::write(&paths[0], "no GGUF file").unwrap();
        let check = |opened: &Path, number: usize| {
            let missing = paths[number - 1].display();
            let message =
                format!("{missing}: missing model shard, {number} of 4: download it again");
            assert_eq!(File::open(opened).unwrap_err().to_string(), message);
        };
        paths.iter().for_each(|path| check(path, 4));
        std::fs::remove_file(&paths[1]).unwrap();
        check(&paths[0], 2);
        check(&paths[2], 2);
    }

    #[test]
    fn shards_that_do_not_belong_together() {
        let remedy = "the shards do not belong together, download the set again";
        check_refused(
            "twice",
            |shards| shards[3].tensors.push(("blk.11.ffn_up_exps.weight".to_owned(), 0.0)),
            "4: tensor `blk.11.ffn_up_exps.weight`: given in 3 too",
        );
        check_refused(
            "order",
            |shards| shards[2].no = 1,
            &format!("3: split.no: expected 2, got 1: {remedy}"),
        );
        check_refused(
            "total",
            |shards| shards[3].tensors_count = 9,
            &format!("4: split.tensors.count: expected 7, got 9: {remedy}"),
        );
        check_refused(
            "empty",
            |shards| shards[3].tensors.clear(),
            &format!("1: split.tensors.count: expected 4, got 7: {remedy}"),
        );
        check_refused(
            "architecture",
            |shards| shards[0].architecture = None,
            "1: general.architecture: missing, the first shard has to say it",
        );
        check_refused(
            "copy",
            |shards| shards[1] = four_shards().swap_remove(0),
            &format!("2: split.no: expected 1, got 0: {remedy}"),
        );
        check_refused(
            "count",
            |shards| shards[1].count = 5,
            &format!("2: split.count: expected 4, got 5: {remedy}"),
        );
    }

    #[test]
    fn a_set_says_what_it_is_split_into() {
        let folder = Folder::new("unsaid");
        let plain = Builder::new().key("general.architecture", "llama").build();
        let path = folder.write(&file_name(0, 2), &plain);
        folder.write(&file_name(1, 2), &plain);
        let error = File::open(&path).unwrap_err().to_string();
        assert!(error.contains(": split.count: expected 2, it is missing: "), "{error}");
    }

    #[test]
    fn a_shard_under_another_name_says_what_it_is() {
        let folder = Folder::new("renamed");
        let pair = shards(&[vec!["a".to_owned()], vec!["b".to_owned()]]);
        let bytes: Vec<Vec<u8>> = pair.iter().map(Shard::bytes).collect();
        let check = |bytes: &[u8], number: u32| {
            let path = folder.write("llama.gguf", bytes);
            let message = format!(
                "{}: split.count: the file says it is part {number} of 2 of a split model: keep \
                 all parts in one folder under their names, NAME-0000{number}-of-00002.gguf for \
                 this one, and open it as a set, not merged with cat",
                path.display()
            );
            assert_eq!(File::open(&path).unwrap_err().to_string(), message);
        };
        check(&bytes.concat(), 1);
        check(&bytes[0], 1);
        check(&bytes[1], 2);
    }

    #[test]
    fn a_set_reads_like_one_file() {
        let folder = Folder::new("four");
        let file = File::open(&write(&folder, &four_shards())[2]).unwrap();
        assert_eq!(file.metadata().string("general.architecture").unwrap(), Some("llama"));
        let found = tensors(&file);
        let lines: Vec<String> = found
            .iter()
            .map(|(name, part, number)| format!("{name} in part {part} is {number}"))
            .collect();
        insta::assert_snapshot!(lines.join("\n"), @"
        token_embd.weight in part 1 is 0
        blk.11.ffn_down_exps.weight in part 1 is 1
        blk.11.ffn_gate_exps.weight in part 2 is 2
        blk.11.ffn_up_exps.weight in part 2 is 3
        blk.12.attn_norm.weight in part 3 is 4
        output_norm.weight in part 3 is 5
        output.weight in part 3 is 6
        ");
        for tensor in file.tensors() {
            assert_eq!(file.tensor(&tensor.name), Some(tensor));
        }
    }
}
