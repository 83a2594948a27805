//! What a wrapper says of the machine: the block `gpu_unlock`, which a publication has among the
//! operator's facts, against what it kept of the report.

use crate::check::report::{Report, printed, quoted};
use crate::check::rule::{Log, breach};
use crate::json::Value;

/// Where a field of the block is.
fn place(report: &Report, field: &str) -> String {
    let blocks = ["/gpu_unlock", "/operator/gpu_unlock"];
    let block = blocks.iter().find(|block| !report.at(block).is_none_or(Value::is_null));
    let block = block.unwrap_or(&blocks[0]);
    format!("{block}{field}")
}

fn devices<'a>(report: &Report<'a>) -> (String, &'a [Value]) {
    let at = place(report, "/devices");
    let devices = report.list(&at);
    (at, devices)
}

fn bus_id(device: &Value) -> Option<&str> {
    device.get("pci_bus_id")?.as_str()
}

pub(in crate::check) fn targets_are_the_devices(report: &Report, log: &mut Log) {
    let at = place(report, "/boot_parameters/gpu_unlock.targets");
    let Some(targets) = report.text(&at) else { return };
    let (list, devices) = devices(report);
    let ids: Vec<&str> = devices.iter().filter_map(bus_id).collect();
    log.judge(targets.split(',').eq(ids.iter().copied()), || {
        breach(at, format!("{} as in {list}", quoted(&ids.join(","))), quoted(targets))
    });
}

pub(in crate::check) fn kernel_is_the_systems(report: &Report, log: &mut Log) {
    let at = place(report, "/kernel");
    let (Some(kernel), Some(system)) = (report.text(&at), report.text("/software/os/version"))
    else {
        return;
    };
    log.judge(kernel == system, || {
        breach(at, format!("{} as in /software/os/version", quoted(system)), quoted(kernel))
    });
}

pub(in crate::check) fn event_says_unlocked(report: &Report, log: &mut Log) {
    let (list, devices) = devices(report);
    for (index, device) in devices.iter().enumerate() {
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
            breach(format!("{list}/{index}/kernel_event"), expected, quoted(event))
        });
    }
}

pub(in crate::check) fn used_devices_are_the_gpus(report: &Report, log: &mut Log) {
    let (list, devices) = devices(report);
    if devices.is_empty() {
        return;
    }
    let gpus = report.list("/hardware/gpus");
    let used = |device: &&Value| {
        device.get("used_for_strata_inference").and_then(Value::as_bool) == Some(true)
    };
    let named = |device: &Value| {
        format!("{} {}", printed(device.get("device_index")), printed(device.get("name")))
    };
    let found: Vec<String> = devices.iter().filter(used).map(named).collect();
    let wanted: Vec<String> = gpus.iter().map(named).collect();
    log.judge(found == wanted, || {
        let wanted = format!("used: {} as in /hardware/gpus", wanted.join(", "));
        breach(list, wanted, format!("used: {}", found.join(", ")))
    });
}
