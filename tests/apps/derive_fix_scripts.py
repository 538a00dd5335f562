#!/usr/bin/env python3
"""Derives FIX acceptance scripts for the versions that have none from those of FIX 4.4.

usage: derive_fix_scripts.py FIX44_SCRIPTS OUTPUT_FOLDER

Writes OUTPUT_FOLDER/fix40, fix41, fix43, fix50, fix50sp1, fix50sp2 and fixlatest. What differs between the versions is what the
standard says: SendingTime in seconds and ResendRequest up to 999999 before FIX 4.2, a Reject that names the field in its
Text there, no BusinessMessageReject there, DefaultApplVerID in the Logon of FIXT 1.1, other fields of the orders. BodyLength
is computed again. Scripts that make no sense in a version are left out.
"""
import pathlib
import re
import sys

SOH = "\x01"
VERSIONS = {  # folder: (BeginString, TargetCompID, DefaultApplVerID, left out)
    "fix40": ("FIX.4.0", "TW40", "", {"SessionReset", "14e_IncorrectEnumValue", "14i_RepeatingGroupCountNotEqual",
                                      "21_RepeatingGroupSpecifierWithValueOfZero", "ReverseRoute"}),
    "fix41": ("FIX.4.1", "TW41", "", {"14i_RepeatingGroupCountNotEqual", "21_RepeatingGroupSpecifierWithValueOfZero"}),
    "fix43": ("FIX.4.3", "TW43", "", set()),
    "fix50": ("FIXT.1.1", "TW50", "7", set()),
    "fix50sp1": ("FIXT.1.1", "TW50SP1", "8", set()),
    "fix50sp2": ("FIXT.1.1", "TW50SP2", "9", set()),
    "fixlatest": ("FIXT.1.1", "TW", "10", set()),  # as QuickFIX/J's scripts for FIX Latest
}
# An ExecutionReport with all fields that FIX 4.0 and 4.1 require.
OLD_REPORT = "37=id 17=1 20=0 150=0 39=0 55=WLRI 54=1 38=200 32=0 31=0 151=100 14=0 6=0.0"


def derived(line, folder):
    begin_string, target, appl_ver_id, _ = VERSIONS[folder]
    old = folder in ("fix40", "fix41")
    match = re.match(r"^([IE](?:\d,)?)8=FIX", line)
    if not match:
        return line
    fields = [field.partition("=")[::2] for field in line[len(match.group(1)):].split(SOH) if field]
    known = dict(fields)
    expected, kind = line[0] == "E", known.get("35")
    if kind == "8" and old:
        report = [field.split("=") for field in OLD_REPORT.split() if folder == "fix41" or field[:2] != "15"]
        fields = [field for field in fields if field[0] in ("8", "9", "35", "34", "49", "52", "56")] + report
    out = []
    for tag, value in fields:
        if tag == "8":
            # A script that sends a message of another version must send one of a different version here.
            value = begin_string if value == "FIX.4.4" else "FIX.4.0" if begin_string == value else value
        if tag in ("49", "56") and value == "TW44":
            value = target
        if expected and tag in ("52", "122"):
            value = "00000000-00:00:00" + ("" if old else ".000")
        if tag == "55" and kind == "0" and appl_ver_id:
            tag, value = "98", "0"  # of the session layer, and not of a Heartbeat
        if expected and kind == "3" and tag == "371" and value == "55" and appl_ver_id:
            value = "98"
        if tag == "336" and value == "ONE_MAIN" and folder in ("fix50sp1", "fix50sp2", "fixlatest"):
            continue  # not of a SecurityDefinition any more
        if old:
            if expected and kind == "2" and tag == "16" and value == "0":
                value = "999999"
            if expected and kind in ("3", "j") and tag in ("371", "372", "373", "380"):
                continue
            if kind == "j":
                value = {"35": "3", "58": "Unsupported message type"}.get(tag, value)
            if expected and kind == "3" and tag == "58" and "371" in known:
                value += f" ({known['371']})"
            if kind == "D":
                if tag == "60":
                    continue
                if tag == "38" and value[0] != "+":
                    value = str(int(float(value)))
                if tag == "40" and folder == "fix40" and "38" not in known:
                    out.append(("38", "100"))
        out.append((tag, value))
    if (kind == "A" or (kind == "j" and folder != "fixlatest")) and appl_ver_id:
        out.insert(len(out) - (out[-1][0] == "10"), ("1137", appl_ver_id))
    if expected and "9" in known:
        body = sum(len(tag) + len(value) + 2 for tag, value in out if tag not in ("8", "9", "10"))
        out = [(tag, str(body) if tag == "9" else value) for tag, value in out]
    return match.group(1) + "".join(f"{tag}={value}{SOH}" for tag, value in out)


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    scripts, output = map(pathlib.Path, arguments)
    for folder, (_, _, _, left_out) in VERSIONS.items():
        (output / folder).mkdir(parents=True, exist_ok=True)
        for script in sorted(scripts.glob("*.def")):
            if script.stem in left_out:
                continue
            lines = script.read_bytes().decode("latin-1").replace("\r", "").split("\n")
            text = "\n".join(derived(line, folder) for line in lines)
            (output / folder / script.name).write_bytes(text.encode("latin-1"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
