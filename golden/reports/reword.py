"""Makes full.json and wrapper.json of two public reports: the figures, digests and ids stay, what their
authors wrote in their own words is replaced by ours. Usage: reword.py FULL WRAPPER, writes beside itself."""
import json, pathlib, sys

OPTIONS = "the server was running already and does not tell its options"
MISSING = {
    "/protocol/model_card_revision": "this draft of the protocol pins no revision of the model card",
    "/run/optional_duration_s": "the concurrency stage was not asked for",
    "/hardware/storage": "which drive holds the model is not known",
    "/hardware/background_workloads": "other programs are not looked at, and none was declared",
    "/software/build_options": "the server does not state them, and none were declared",
    "/model/revision": "not declared",
    "/model/source_revision": "not declared",
    "/model/files": "no file of the model was found on this machine to take a digest of",
    "/model/tokenizer_revision": "not declared",
    "/model/custom_pack": "none was declared",
} | {f"/configuration/{group}": OPTIONS for group in
     "kv_cache expert_cache offloading prefill mtp calibration experimental_options".split()}

FULL_NOTES = 'every switch at once: ["--adapt-async","1"] and, for "long" prompts, wider windows'
FULL_COMMAND = (" bench run --url http://127.0.0.1:8080 --credential-env BENCH_KEY --skip-model-hash"
                f" --track custom --track-notes {FULL_NOTES} --quantization IQ3_S")

PACK = "a pack made at set-up; the expert profile that came with it"
NOTES = ('one card of two in use, context raised to 32768 so that the longest prompt fits; the drafter is'
         ' the "standard" one; nothing was tuned')
COMMAND = ("strata bench run --profile <tmp>/run/profile.json --suite standard-v1 --track custom"
           f" --track-notes {NOTES} --quantization IQ3_XXS --custom-pack {PACK}"
           " --out <tmp>/run/out --output json")


def full(report):
    report["run"]["command"] = FULL_COMMAND
    report["configuration"]["track_notes"] = FULL_NOTES
    report["missing"].update(MISSING)


def observation(block):
    block["window"] = "the required requests with their warm-up, without loading the model"
    block["sampling"] = "every 2 seconds or so, by the tools of the driver and of the kernel"


def wrapper(report):
    report["selected_run"]["command"] = COMMAND
    report["configuration"]["track_notes"] = NOTES
    report["model"]["custom_pack"] = PACK
    unlock = report["gpu_unlock"]
    unlock["verification_timing"] = "read after the run, before the next boot"
    unlock["sources"] = ["loaded modules", "the module's version", "boot parameters", "kernel log", "bus ids"]
    for device in unlock["devices"]:
        stamp = device["kernel_event"].split("]")[0]
        device["kernel_event"] = f"{stamp}] gpu_unlock: {device['pci_bus_id']} unlocked"
    observation(report["memory_observation"])
    for run in report["excluded_runs"]:
        run["reason"] = "the other card was busy and memory was swapped while this run was measured"
        run["declaration_correction"] = "its notes name another drafter than its log shows"
        observation(run["resource_observation"])


for source, name, reword in zip(sys.argv[1:], ["full.json", "wrapper.json"], [full, wrapper]):
    report = json.loads(pathlib.Path(source).read_text())
    reword(report)
    text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    pathlib.Path(__file__).with_name(name).write_text(text)
