//! Whole files: valid ones come back as written, hostile ones are refused in words.

use super::testing::Builder;
use super::*;
use proptest::prelude::*;
use proptest::sample::Index;

fn parse(bytes: Vec<u8>) -> Result<File, Error> {
    File::parse(Bytes::from(bytes))
}

/// A header with counts, then `digits`, then zeros up to `len` bytes.
fn hex(header: &str, digits: &str, len: usize) -> Vec<u8> {
    let byte = |pair: &[u8; 2]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    let digits = [header, digits].concat();
    let mut bytes: Vec<u8> = digits.as_bytes().as_chunks().0.iter().map(byte).collect();
    bytes.resize(len, 0);
    bytes
}

const ONE_TENSOR: &str = "474755460300000001000000000000000000000000000000";
const ONE_KEY: &str = "474755460300000000000000000000000100000000000000";

/// The bytes are refused with this message.
fn check_refused(bytes: Vec<u8>, message: &str) {
    match parse(bytes) {
        Ok(_) => panic!("accepted, expected: {message}"),
        Err(error) => assert_eq!(error.to_string(), message),
    }
}

/// A tensor `t` with 8 floats; 96 bytes.
fn eight_floats() -> Builder {
    Builder::new().floats("t", &[8], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
}

/// A record and 64 bytes of data that do not have to agree.
fn one_tensor(dims: &[u64], ggml_id: u32) -> Vec<u8> {
    Builder::new().tensor_of_type("t", dims, ggml_id, vec![0; 64]).build()
}

/// Figures from PyPI `gguf` 0.19.0, `GGUFReader`.
#[test]
fn the_bundled_model_is_what_an_outside_reader_says() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("models/stories260K/stories260K.f16.gguf");
    let file = File::open(&path).unwrap();
    assert_eq!((file.version(), file.alignment(), file.byte_len()), (3, 32, 535_808));
    assert_eq!((file.metadata().iter().count(), file.tensors().len()), (25, 47));
    let embedding = file.tensor("token_embd.weight").unwrap();
    assert_eq!(
        (&*embedding.dims, embedding.kind),
        (&[64, 512][..], TensorKind::Known(Format::F16))
    );
    assert_eq!((embedding.offset, embedding.byte_len), (14_336, 65_536));
    let mut first = [0.0; 4];
    Format::F16.decode(&file.data(embedding)[..8], &mut first);
    assert_eq!(first.map(|weight| (weight * 1e4).round()), [-2947.0, 5620.0, 1754.0, 3406.0]);
    let last = &file.tensors()[46];
    assert_eq!((&*last.name, last.offset, last.byte_len), ("output_norm.weight", 535_552, 256));
    file.refuse_unknown_formats().unwrap();
}

#[test]
fn errors_of_a_file_name_its_path() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs");
    let problem =
        "magic: not a GGUF file: expected it to begin with `GGUF`, got `//! ` (at byte 0)";
    let error = File::open(&path).unwrap_err().to_string();
    assert_eq!(error, format!("{}: {problem}", path.display()));
}

#[test]
fn a_file_comes_back_as_written() {
    let bytes = Builder::new()
        .key("general.architecture", "llama")
        .key("general.alignment", 64_u32)
        .key("tokens", ["<s>", "", "é"])
        .key("scores", [0.5_f32, -1.0])
        .floats("a", &[3, 1], &[1.0, 2.0, 3.0])
        .tensor("b", &[32, 2], Format::Q8_0, (0..68).collect())
        .tensor_of_type("c", &[256], 16, vec![7; 66])
        .build();
    let file = parse(bytes).unwrap();
    assert_eq!((file.version(), file.alignment()), (3, 64));
    let keys: Vec<_> =
        file.metadata().iter().map(|(key, value)| format!("{key}={value}")).collect();
    let expected = [
        "general.architecture=\"llama\"",
        "general.alignment=64",
        "tokens=[string; 3]",
        "scores=[f32; 2]",
    ];
    assert_eq!(keys, expected);
    let b = file.tensor("b").unwrap();
    assert_eq!((&*b.dims, b.kind), (&[32, 2][..], TensorKind::Known(Format::Q8_0)));
    assert!(b.offset.is_multiple_of(64));
    assert!(file.data(b).iter().copied().eq(0..68));
    let c = file.tensor("c").unwrap();
    assert_eq!((c.kind, c.byte_len), (TensorKind::Unknown(16), 0));
    assert_eq!(file.tensors().len(), 3);
    assert_eq!(file.tensor("d"), None);
}

#[test]
fn version_2_reads_like_3_and_other_magics_and_versions_are_named() {
    let with_version = |version: [u8; 4]| {
        let mut bytes = eight_floats().build();
        bytes[4..8].copy_from_slice(&version);
        bytes
    };
    assert_eq!(parse(with_version([2, 0, 0, 0])).unwrap().version(), 2);
    for version in [0, 1, 4, 255] {
        let message = format!(
            "version: {version}, this build reads 2 and 3: convert the model with current tools \
             (at byte 4)"
        );
        check_refused(with_version([version, 0, 0, 0]), &message);
    }
    check_refused(
        with_version([0, 0, 0, 3]),
        "version: the file is big-endian, this build reads little-endian files (at byte 4)",
    );
    check_refused(
        b"FUGG\0\0\0\x03".to_vec(),
        "magic: the file is big-endian, this build reads little-endian files (at byte 0)",
    );
    check_refused(
        b"\x7fELF\x02".to_vec(),
        "magic: not a GGUF file: expected it to begin with `GGUF`, got `\\x7fELF` (at byte 0)",
    );
}

#[test]
fn zero_dimensions_and_empty_keys() {
    check_refused(
        hex(ONE_TENSOR, "01000000000000007401", 64),
        "tensor `t`: shape: dimension 0 is 0, expected at least 1 (at byte 45)",
    );
    check_refused(
        hex(ONE_KEY, "00000000000000000400000007", 64),
        "key 0: name: expected 1 to 65535 bytes, got 0 (at byte 32)",
    );
    let long = Builder::new().key(&"k".repeat(65_536), true).build();
    check_refused(long, "key 0: name: expected 1 to 65535 bytes, got 65536 (at byte 32)");
}

#[test]
fn element_counts_and_sizes_that_overflow() {
    check_refused(
        hex(ONE_TENSOR, "01000000000000007402000000ffffffffffffff7f020000000000000018", 96),
        "tensor `t`: shape: [9223372036854775807, 2] has more than 2^63 - 1 elements (at byte 53)",
    );
    check_refused(
        hex(ONE_TENSOR, "010000000000000074020000000000400000000000010000000004", 96),
        "tensor `t`: shape: [4194304, 4398046511105] has more than 2^63 - 1 elements (at byte 53)",
    );
    check_refused(
        one_tensor(&[1 << 40, 1 << 22], 0),
        "tensor `t`: shape: [1099511627776, 4194304] as F32 has more than 2^64 - 1 bytes \
         (at byte 53)",
    );
}

#[test]
fn rows_that_do_not_fill_blocks_and_too_many_dimensions() {
    check_refused(
        hex(ONE_TENSOR, "01000000000000007401000000210000000000000008", 132),
        "tensor `t`: shape: rows of 33 do not fill Q8_0 blocks of 32 (at byte 45)",
    );
    for (dims, count) in [(&[][..], 0), (&[1; 5], 5)] {
        let message =
            format!("tensor `t`: number of dimensions: expected 1 to 4, got {count} (at byte 33)");
        check_refused(one_tensor(dims, 0), &message);
    }
}

#[test]
fn an_array_of_another_type_is_an_error_of_the_getter() {
    let key = "1900000000000000746f6b656e697a65722e67676d6c2e746f6b656e5f74797065";
    let array = "0900000000000000040000000000000001010101";
    let file = parse(hex(ONE_KEY, &[key, array].concat(), 96)).unwrap();
    let error = file.metadata().integers("tokenizer.ggml.token_type").unwrap_err();
    let expected = "tokenizer.ggml.token_type: expected an array of i32, got an array of u8";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn alignments_that_are_none() {
    let file = |digits: &str| {
        let key = "110000000000000067656e6572616c2e616c69676e6d656e74";
        hex(ONE_KEY, &[key, digits].concat(), 64)
    };
    let check = |digits: &str, got: &str| {
        let expected = "general.alignment: expected a u32 that is a power of two, got";
        check_refused(file(digits), &format!("{expected} {got}"));
    };
    check("0500000020", "i32 32");
    check("04", "u32 0");
    check("0400000003", "u32 3");
    check("0a0000000000000001", "u64 4294967296");
    assert_eq!(parse(file("0400000000000080")).unwrap().alignment(), 1 << 31);
}

#[test]
fn offsets_outside_the_file_or_off_the_grid() {
    let end = "this one has 96: the file is cut short or damaged, download it again";
    check_refused(
        hex(ONE_TENSOR, "0100000000000000740100000008000000000000000000000000000000000100", 96),
        &format!(
            "tensor `t`: 32 bytes at offset 1099511627776 of the tensor data need a file of \
             1099511627872 bytes, {end}"
        ),
    );
    let with_offset = |offset: u64| {
        let mut bytes = eight_floats().build();
        bytes[24 + 25..24 + 33].copy_from_slice(&offset.to_le_bytes());
        bytes
    };
    check_refused(
        with_offset(u64::MAX - 31),
        &format!(
            "tensor `t`: 32 bytes at offset 18446744073709551584 of the tensor data need a file \
             of more than 2^64 bytes, {end}"
        ),
    );
    check_refused(with_offset(8), "tensor `t`: offset 8 is not a multiple of the alignment 32");
}

#[test]
fn every_prefix_of_a_file_is_refused_with_what_is_there_and_what_is_missing() {
    let whole = hex(
        ONE_TENSOR,
        "010000000000000074010000000800000000000000000000000000000000000000000000000000000000\
         00000000803f0000004000004040000080400000a0400000c0400000e040",
        96,
    );
    assert_eq!(whole, eight_floats().build());
    parse(whole.clone()).unwrap();
    let mut messages = String::new();
    for len in 0..whole.len() {
        let error = parse(whole[..len].to_vec()).expect_err("a part is no file").to_string();
        let remedy = ": the file is cut short or damaged, download it again";
        assert!(error.contains(remedy), "{error}");
        if [0, 3, 4, 23, 24, 56, 57, 64, 95].contains(&len) {
            messages += &format!("{len}: {}\n", error.replace(remedy, ""));
        }
    }
    insta::assert_snapshot!(messages, @r"
    0: magic: expected 4 bytes, 0 are left (at byte 0)
    3: magic: expected 4 bytes, 3 are left (at byte 0)
    4: version: expected 4 bytes, 0 are left (at byte 4)
    23: number of tensors: 1 of at least 33 bytes each, 7 bytes are left (at byte 8)
    24: number of tensors: 1 of at least 33 bytes each, 8 bytes are left (at byte 8)
    56: tensor `t`: offset: expected 8 bytes, 7 are left (at byte 49)
    57: tensor `t`: 32 bytes at offset 0 of the tensor data need a file of 96 bytes, this one has 57
    64: tensor `t`: 32 bytes at offset 0 of the tensor data need a file of 96 bytes, this one has 64
    95: tensor `t`: 32 bytes at offset 0 of the tensor data need a file of 96 bytes, this one has 95
    ");
}

#[test]
fn names_given_twice_and_tensors_over_each_other() {
    check_refused(
        Builder::new().key("a", 1_u32).key("b", 1_u32).key("a", 2_u32).build(),
        "key `a`: given twice, as pairs 0 and 2",
    );
    let twice = eight_floats().floats("u", &[1], &[0.0]).floats("t", &[1], &[0.0]);
    check_refused(twice.build(), "tensor `t`: given twice, as records 0 and 2");

    let mut overlapping =
        Builder::new().floats("t", &[16], &[0.0; 16]).floats("u", &[1], &[0.0]).build();
    let offset_of_u = 24 + 33 + 25..24 + 33 + 33;
    overlapping[offset_of_u].copy_from_slice(&32_u64.to_le_bytes());
    check_refused(
        overlapping,
        "tensor `t`: its bytes 96..160 overlap 128..132 of `u`: the file is damaged",
    );
}

#[test]
fn parts_of_a_split_model_say_so() {
    let part = |index: u16| {
        let name = format!("blk.{index}.attn_q.weight");
        eight_floats().key("split.no", index).key("split.count", 2_u16).floats(&name, &[1], &[1.0])
    };
    let joined = [part(0).build(), part(1).build()].concat();
    let message = |part: u32| {
        format!(
            "split.count: the file says it is part {part} of 2 of a split model: keep all parts \
             in one folder under their names, NAME-0000{part}-of-00002.gguf for this one, and open \
             it as a set, not merged with cat"
        )
    };
    check_refused(joined, &message(1));
    check_refused(part(1).build(), &message(2));
    parse(eight_floats().key("split.no", 0_u16).key("split.count", 1_u16).build()).unwrap();
}

#[test]
fn counts_are_compared_with_what_is_left() {
    let counts = |tensors: u64, keys: u64| {
        [&b"GGUF\x03\0\0\0"[..], &tensors.to_le_bytes(), &keys.to_le_bytes(), &[0; 66]].concat()
    };
    check_refused(
        counts(3, 0),
        "number of tensors: 3 of at least 33 bytes each, 74 bytes are left: the file is cut short \
         or damaged, download it again (at byte 8)",
    );
    check_refused(
        counts(0, u64::MAX),
        "number of keys: 18446744073709551615 of at least 14 bytes each, 66 bytes are left: the \
         file is cut short or damaged, download it again (at byte 16)",
    );
}

#[test]
fn all_tensors_in_unknown_formats_are_named_in_one_line() {
    let message = |count: usize| {
        let mut builder = eight_floats();
        for index in 0..count {
            builder = builder.tensor_of_type(&format!("x\n{index}"), &[256], 20, vec![0; 32]);
        }
        parse(builder.build()).unwrap().refuse_unknown_formats().map_err(|error| error.to_string())
    };
    assert_eq!(message(0), Ok(()));
    let two = "2 of 3 tensors are stored in formats this build does not read: `x\\n0` (ggml type \
               20), `x\\n1` (ggml type 20); it reads F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q4_K, Q6_K";
    assert_eq!(message(2).unwrap_err(), two);
    let all = message(MAX_NAMED_TENSORS).unwrap_err();
    assert!(all.contains(r"`x\n999` (ggml type 20); it reads F32"));
    let most = message(MAX_NAMED_TENSORS + 2).unwrap_err();
    assert!(most.contains(r"`x\n999` (ggml type 20), 2 more; it reads F32"));
}

/// Any, small, or a power of two: products that wrap to something small must come up.
fn dimension() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), 0..70_u64, (0..64_u32).prop_map(|bit| 1 << bit)]
}

/// Small ones are the likelier type ids and counts.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![any::<u8>(), 0..16_u8]
}

proptest! {
    /// Whatever the shape, the bytes a tensor is given lie inside the file.
    #[test]
    fn any_shape_fits_or_is_refused(
        dims in prop::collection::vec(dimension(), 0..6),
        ggml_id in 0..32_u32,
        offset in prop_oneof![any::<u64>(), 0..70_u64],
    ) {
        let mut bytes = one_tensor(&dims, ggml_id);
        let offset_at = 8 + 16 + 9 + 4 + 8 * dims.len() + 4;
        bytes[offset_at..][..8].copy_from_slice(&offset.to_le_bytes());
        if let Ok(file) = parse(bytes) {
            let tensor = &file.tensors()[0];
            let elements: u128 = dims.iter().map(|dim| u128::from(*dim)).product();
            if let TensorKind::Known(format) = tensor.kind {
                let layout = format.layout();
                let bytes = elements / layout.block_len as u128 * layout.block_bytes as u128;
                prop_assert_eq!(u128::from(tensor.byte_len), bytes);
            }
            prop_assert_eq!(file.data(tensor).len() as u64, tensor.byte_len);
        }
    }

    /// A few bytes changed and the end cut off: an error or a file whose views can all be taken
    /// and whose owned parts are no larger than what they were read from.
    #[test]
    fn a_damaged_file_never_panics_nor_grows(
        changes in prop::collection::vec((any::<Index>(), byte()), 0..6),
        cut in prop::option::of(any::<Index>()),
    ) {
        let mut bytes = Builder::new()
            .key("a", Value::Bool(true))
            .key("tokens", ["<s>", "a", "é"])
            .key("scores", [1.0_f32, 2.0])
            .key("name", "tiny")
            .key("flags", Array::Arrays(vec![Array::Scalars(Kind::Bool, vec![1, 0]); 2]))
            .floats("t", &[4, 2], &[0.0; 8])
            .tensor("u", &[32], Format::Q4_0, vec![0; 18])
            .build();
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.map_or(bytes.len(), |cut| cut.index(bytes.len())));
        let len = bytes.len();
        if let Ok(file) = parse(bytes) {
            let owned = |value: &Value| match value {
                Value::String(text) => text.len(),
                Value::Array(array) => array.len(),
                _ => 1,
            };
            let names: usize = file.tensors().iter().map(|tensor| tensor.name.len()).sum();
            let pairs = file.metadata().iter().map(|(key, value)| key.len() + owned(value));
            prop_assert!(names + pairs.sum::<usize>() <= len);
            for tensor in file.tensors() {
                prop_assert_eq!(file.data(tensor).len() as u64, tensor.byte_len);
            }
        }
    }

    #[test]
    fn any_bytes_after_the_magic_never_panic(rest in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse([b"GGUF\x03\0\0\0", &rest[..]].concat());
    }
}
