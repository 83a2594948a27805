//! What a wrapper says of the machine: the block `gpu_unlock` against what it kept of the report.

use crate::check::report::{Report, printed, quoted};
use crate::check::rule::{Log, breach};
use crate::json::Value;

const DEVICES: &str = "/gpu_unlock/devices";

fn devices<'a>(report: &Report<'a>) -> &'a [Value] {
    report.list(DEVICES)
}

fn bus_id(device: &Value) -> Option<&str> {
    device.get("pci_bus_id")?.as_str()
}

pub(in crate::check) fn targets_are_the_devices(report: &Report, log: &mut Log) {
    let at = "/gpu_unlock/boot_parameters/gpu_unlock.targets";
    let Some(targets) = report.text(at) else { return };
    let ids: Vec<&str> = devices(report).iter().filter_map(bus_id).collect();
    log.judge(targets.split(',').eq(ids.iter().copied()), || {
        breach(at, format!("{} as in {DEVICES}", quoted(&ids.join(","))), quoted(targets))
    });
}

pub(in crate::check) fn kernel_is_the_systems(report: &Report, log: &mut Log) {
    let at = "/gpu_unlock/kernel";
    let (Some(kernel), Some(system)) = (report.text(at), report.text("/software/os/version"))
    else {
        return;
    };
    log.judge(kernel == system, || {
        breach(at, format!("{} as in /software/os/version", quoted(system)), quoted(kernel))
    });
}

pub(in crate::check) fn event_says_unlocked(report: &Report, log: &mut Log) {
    for (index, device) in devices(report).iter().enumerate() {
        let text = |key: &str| device.get(key)?.as_str();
        let unlocked = device.get("unlocked").and_then(Value::as_bool);
        let (Some(id), Some(event), Some(unlocked)) =
            (bus_id(device), text("kernel_event"), unlocked)
        else {
            continue;
        };
        let says = event.split(|c: char| !c.is_alphanumeric()).any(|word| word == "unlocked");
        log.judge(event.contains(id) && says == unlocked, || {
            let word = if unlocked { "unlocked" } else { "no `unlocked`" };
            let expected = format!("{} and {word}", quoted(id));
            breach(format!("{DEVICES}/{index}/kernel_event"), expected, quoted(event))
        });
    }
}

pub(in crate::check) fn used_devices_are_the_gpus(report: &Report, log: &mut Log) {
    if devices(report).is_empty() {
        return;
    }
    let gpus = report.list("/hardware/gpus");
    let used = |device: &&Value| {
        device.get("used_for_strata_inference").and_then(Value::as_bool) == Some(true)
    };
    let named = |device: &Value| {
        format!("{} {}", printed(device.get("device_index")), printed(device.get("name")))
    };
    let found: Vec<String> = devices(report).iter().filter(used).map(named).collect();
    let wanted: Vec<String> = gpus.iter().map(named).collect();
    log.judge(found == wanted, || {
        let wanted = format!("used: {} as in /hardware/gpus", wanted.join(", "));
        breach(DEVICES, wanted, format!("used: {}", found.join(", ")))
    });
}
