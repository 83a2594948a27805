//! The drives under a file: mount point to device to disk, as the kernel shows them in
//! /proc/self/mountinfo and /sys/block. A stack (LVM, dm-crypt, md) is followed down to its disks.

use super::{Drive, read};
use crate::fact::Fact;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The reason when no file of the model is at hand.
pub const NOT_FOUND: &str = "the drive holding the model files could not be identified";
/// Deepest stack of block devices followed.
const MAX_LAYERS: usize = 8;

/// The drives that hold `file`, an absolute path without links.
pub fn holding(root: &Path, file: &Path) -> Fact<Vec<Drive>> {
    let mountinfo = match read(root, "proc/self/mountinfo") {
        Fact::Known(text) => text,
        Fact::Unknown(reason) => return Fact::Unknown(reason),
    };
    let Some(source) = device_of(&mountinfo, file) else {
        return Fact::Unknown(NOT_FOUND.to_string());
    };
    let Some(device) = source.strip_prefix("/dev/") else {
        return Fact::Unknown(format!(
            "the model files lie on a file system without a drive of its own: {source}"
        ));
    };
    // /dev/mapper/NAME is a link to /dev/dm-N, the name that /sys/block knows.
    let linked = fs::canonicalize(root.join(format!("dev/{device}"))).ok();
    let name = linked
        .as_deref()
        .and_then(Path::file_name)
        .map_or(device.to_string(), |name| name.to_string_lossy().into_owned());
    let mut disks = BTreeSet::new();
    find_disks(&root.join("sys/block"), &name, MAX_LAYERS, &mut disks);
    if disks.is_empty() {
        return Fact::Unknown(format!("/sys/block knows no disk {name}, which holds the model"));
    }
    Fact::Known(disks.iter().map(|disk| drive(root, disk)).collect())
}

/// The source of the mount that `file` lies on: of the deepest mount point above it the last one
/// mounted.
fn device_of<'m>(mountinfo: &'m str, file: &Path) -> Option<&'m str> {
    // proc(5): id parent major:minor root MOUNT_POINT options [optional ...] - type SOURCE options
    let mounts = mountinfo.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let point = PathBuf::from(unescape(before.split(' ').nth(4)?));
        let source = after.split(' ').nth(1)?;
        file.starts_with(&point).then(|| (point.components().count(), source))
    });
    mounts.max_by_key(|&(depth, _)| depth).map(|(_, source)| source)
}

/// mountinfo writes blank, tab, line feed and backslash as three octal digits.
fn unescape(field: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(field.to_string(), |text, (code, character)| text.replace(code, character))
}

/// Adds the disks under device `name`: itself, the disk it is a partition of, or its slaves'.
fn find_disks(block: &Path, name: &str, layers: usize, disks: &mut BTreeSet<String>) {
    let entries = |folder: PathBuf| {
        let names = fs::read_dir(folder).into_iter().flatten().flatten();
        names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    let whole = entries(block.to_path_buf())
        .into_iter()
        .find(|disk| disk == name || block.join(disk).join(name).is_dir());
    let Some(disk) = whole else { return };
    let slaves = entries(block.join(&disk).join("slaves"));
    if slaves.is_empty() || layers == 0 {
        disks.insert(disk);
        return;
    }
    for slave in slaves {
        find_disks(block, &slave, layers - 1, disks);
    }
}

fn drive(root: &Path, disk: &str) -> Drive {
    let file = |name: &str| {
        read(root, &format!("sys/block/{disk}/{name}")).map(|text| text.trim().to_string())
    };
    let device = fs::canonicalize(root.join(format!("sys/block/{disk}/device")));
    let device = device.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
    let nvme = disk.starts_with("nvme");
    let buses = [("/nvme", "nvme"), ("/usb", "usb"), ("/ata", "sata"), ("/virtio", "virtio")];
    let bus = buses.iter().find(|(part, _)| device.contains(part)).map(|(_, bus)| *bus);
    let kind = match file("queue/rotational").known().map(String::as_str) {
        _ if nvme => Some("nvme"),
        Some("0") => Some("ssd"),
        Some("1") => Some("hdd"),
        _ => None,
    };
    let unknown = |what: &str| format!("/sys/block/{disk} does not tell the drive's {what}");
    Drive {
        kind: Fact::of(kind.map(str::to_string), unknown("kind")),
        model: file("device/model"),
        bus: Fact::of(if nvme { Some("nvme") } else { bus }.map(str::to_string), unknown("bus")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tree;
    use super::*;

    const MOUNTS: &str = "\
22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw
30 22 0:27 / /fast rw - tmpfs tmpfs rw
40 22 253:0 / /data rw shared:3 - xfs /dev/dm-0 rw
41 40 8:1 / /data/my\\040disk rw - ext4 /dev/sdb1 rw
";

    fn tree() -> Tree {
        let tree = Tree::new(&[
            ("proc/self/mountinfo", MOUNTS),
            ("sys/block/nvme0n1/device/model", "CSSD-M2RF72LT2000GB   \n"),
            ("sys/block/nvme0n1/nvme0n1p2/size", "1\n"),
            ("sys/block/sda/sda3/size", "1\n"),
            ("sys/block/sda/queue/rotational", "1\n"),
            ("sys/block/sdb/sdb1/size", "1\n"),
            ("sys/block/sdb/queue/rotational", "0\n"),
            ("sys/block/dm-0/slaves/sda3/size", "1\n"),
            ("sys/block/dm-0/slaves/nvme0n1p2/size", "1\n"),
            ("sys/devices/pci0/ata2/host1/model", "WD Red\n"),
        ]);
        let target = tree.path().join("sys/devices/pci0/ata2/host1");
        std::os::unix::fs::symlink(target, tree.path().join("sys/block/sda/device")).unwrap();
        tree
    }

    fn show(fact: Fact<Vec<Drive>>) -> String {
        let or = |fact: &Fact<String>| fact.known().map_or("?".to_string(), String::clone);
        match fact {
            Fact::Known(drives) => drives
                .iter()
                .map(|drive| format!("{} {} {}", or(&drive.kind), or(&drive.model), or(&drive.bus)))
                .collect::<Vec<_>>()
                .join(", "),
            Fact::Unknown(reason) => reason,
        }
    }

    fn check(file: &str, expected: &str) {
        assert_eq!(show(holding(tree().path(), Path::new(file))), expected, "{file}");
    }

    #[test]
    fn drives() {
        check("/home/me/m.gguf", "nvme CSSD-M2RF72LT2000GB nvme");
        check("/data/m.gguf", "nvme CSSD-M2RF72LT2000GB nvme, hdd WD Red sata");
        check("/data/my disk/m.gguf", "ssd ? ?");
        check(
            "/fast/m.gguf",
            "the model files lie on a file system without a drive of its own: tmpfs",
        );
        check("m.gguf", NOT_FOUND);
    }
}
