//! Keys and values of one layer in host memory, stored as rows of a weight format.

use crate::Error;
use crate::device::KvType;
use crate::quant::{Format, f32_to_f16};

/// Two tables that grow by a row a position, `[positions, width]` each.
pub struct KvRows {
    format: Format,
    row_bytes: usize,
    keys: Vec<u8>,
    values: Vec<u8>,
}

impl KvRows {
    /// Reserves address space for `capacity` positions. Memory is touched as positions come.
    pub(super) fn new(capacity: usize, width: usize, kind: KvType) -> Result<KvRows, Error> {
        let format = match kind {
            KvType::F32 => Format::F32,
            KvType::F16 => Format::F16,
        };
        let row_bytes = format.row_bytes(width).expect("one number is a block");
        let mut rows = KvRows { format, row_bytes, keys: Vec::new(), values: Vec::new() };
        for table in [&mut rows.keys, &mut rows.values] {
            let reserved = capacity.checked_mul(row_bytes).map(|len| table.try_reserve_exact(len));
            if !matches!(reserved, Some(Ok(()))) {
                return Err(Error::Input(format!(
                    "no memory for the keys of {capacity} positions, {row_bytes} bytes each: \
                     lower --ctx"
                )));
            }
        }
        Ok(rows)
    }

    /// Writes `keys` and `values`, `[positions, width]`, from position `first` on, and forgets what
    /// stood there and beyond.
    pub(super) fn append(&mut self, first: usize, keys: &[f32], values: &[f32]) {
        let held = first * self.row_bytes;
        for (table, rows) in [(&mut self.keys, keys), (&mut self.values, values)] {
            assert!(held <= table.len(), "positions follow one another");
            table.truncate(held);
            match self.format {
                Format::F32 => table.extend(rows.iter().flat_map(|x| x.to_le_bytes())),
                _ => table.extend(rows.iter().flat_map(|x| f32_to_f16(*x).to_le_bytes())),
            }
        }
    }

    /// Stored with blocks of one number: F32 or F16.
    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// The stored key of a position and a head of `head_dim` numbers.
    pub(super) fn key(&self, position: usize, kv_head: usize, head_dim: usize) -> &[u8] {
        self.part(&self.keys, position, kv_head, head_dim)
    }

    /// The stored value of a position and a head of `head_dim` numbers.
    pub(super) fn value(&self, position: usize, kv_head: usize, head_dim: usize) -> &[u8] {
        self.part(&self.values, position, kv_head, head_dim)
    }

    #[inline(always)]
    fn part<'a>(
        &self,
        table: &'a [u8],
        position: usize,
        kv_head: usize,
        head_dim: usize,
    ) -> &'a [u8] {
        let bytes = head_dim * self.format.layout().block_bytes;
        &table[position * self.row_bytes + kv_head * bytes..][..bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_replaced_from_the_first_on() {
        for kind in [KvType::F32, KvType::F16] {
            let mut rows = KvRows::new(4, 4, kind).unwrap();
            let check = |rows: &KvRows, position, head, key: [f32; 2], value: [f32; 2]| {
                let mut found = [0.0; 2];
                rows.format().decode(rows.key(position, head, 2), &mut found);
                assert_eq!(found, key);
                rows.format().decode(rows.value(position, head, 2), &mut found);
                assert_eq!(found, value);
            };
            rows.append(0, &[0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5], &[-1.0; 8]);
            rows.append(1, &[8.5, 9.5, 10.5, 11.5], &[-2.0, -3.0, -4.0, -5.0]);
            check(&rows, 0, 1, [2.5, 3.5], [-1.0, -1.0]);
            check(&rows, 1, 0, [8.5, 9.5], [-2.0, -3.0]);
            check(&rows, 1, 1, [10.5, 11.5], [-4.0, -5.0]);
            assert_eq!(rows.keys.len(), 2 * rows.row_bytes);
        }
    }

    #[test]
    fn a_capacity_beyond_all_memory_is_refused() {
        for capacity in [usize::MAX, 1 << 60] {
            let error = KvRows::new(capacity, 8, KvType::F16).err().unwrap();
            let expected = format!(
                "no memory for the keys of {capacity} positions, 16 bytes each: lower --ctx"
            );
            assert_eq!(error.to_string(), expected);
        }
    }
}
