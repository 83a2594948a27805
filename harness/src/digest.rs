//! SHA-256 in the one spelling that reports use: 64 lower-case hex digits.

use sha2::{Digest, Sha256};
use std::io::{self, Read};

/// The digest of `bytes`.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The digest of all that `reader` yields, read in pieces.
pub fn sha256_of(mut reader: impl Read) -> io::Result<String> {
    let (mut hasher, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(hex(&hasher.finalize())),
            len => hasher.update(&buffer[..len]),
        }
    }
}

/// Whether `text` is a digest in this spelling.
pub fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_vector() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), abc); // FIPS 180-4, appendix B.1
        assert_eq!(sha256_of(&b"abc"[..]).unwrap(), abc);
        assert!(is_sha256(abc) && !is_sha256(&abc.to_uppercase()) && !is_sha256(&abc[1..]));
    }
}
