"""fit, predict, evaluate, compare, report and info on files, as an analyst uses them."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pandas
import pytest

import extranets as package
from extranets import metrics

from .conftest import COMMAND, QUICK

# -- fit -----------------------------------------------------------------------------------------------------------------


def test_fit_tells_what_it_took_the_columns_for_and_its_cross_validated_scores(rents):
    text, errors = (rents / "fit.txt").read_text(), (rents / "fit.err").read_text()
    for column, kind in [("listed", "date"), ("district", "category"), ("area", "number"), ("balcony", "boolean")]:
        assert any(column in line and kind in line for line in text.splitlines()), column
    assert "400 rows" in text and "flat" not in text
    assert "RMSE" in text and "coverage at 90.0 %" in text and "mean width" in text and "400 held-out rows" in text
    assert "Fold 1 of 2, 3 fits in all" in errors and re.search(r"Fold 2 of 2, about \d+ s left", errors)
    assert "Training" in errors and "model.xnet" in errors


def test_fit_and_info_tell_which_networks_were_chosen_and_how_close_it_was(rents, here):
    """The largest weights first, as in the settings; what has no weight is not called a part of the stack."""
    models = package.load(rents / "model.xnet").settings_["models"]
    for text in ((rents / "fit.txt").read_text(), here("info", rents / "model.xnet").stdout):
        lines = text[text.index("R² held out") :].splitlines()[2 : 2 + len(models)]
        found = sorted(float(line.split()[-2]) for line in lines)
        assert found == sorted(round(model["r2"], 4) for model in models)
        weights = [float(re.findall(r"([\d.]+) %", line)[0]) for line in lines if "not used" not in line]
        assert weights == sorted(
            (round(100 * model["weight"], 1) for model in models if model["weight"] > 0), reverse=True
        )


def test_missing_values_are_counted_in_columns_of_every_kind(here, tmp_path):
    table = pandas.DataFrame({"size": [1.5, None, 3.5, 4.5] * 15, "city": [None, "Ulm", None, "Bonn"] * 15})
    table.assign(y=np.random.default_rng(0).normal(size=60)).to_csv(tmp_path / "t.csv", index=False)
    quick = (*QUICK, "--folds", 0, "-q", "-o", tmp_path / "m.xnet")
    lines = here("fit", tmp_path / "t.csv", "-t", "y", *quick).stdout.splitlines()
    for name, missing in (("size", "15"), ("city", "30")):
        (line,) = [line for line in lines if name in line]
        assert missing in line.split(), line


def test_kinds_of_ordinary_columns_are_shown_and_explained(here, tmp_path):
    """A row number, 0 and 1, school years with a word among them, and dates in three formats."""
    random = np.random.default_rng(0)
    days = ["2023-01-13", "14.01.2023", "15 Jan 2023"]
    table = pandas.DataFrame({"flat": range(1, 101), "lift": [0, 1, None, 1] * 25, "area": random.normal(size=100)})
    table = table.assign(school=["9", "10", "11", "12"] * 24 + ["12", "11", "10", "other"], seen=[*days * 33, days[0]])
    table.assign(y=random.normal(size=100)).to_csv(tmp_path / "t.csv", index=False)
    done = here("fit", tmp_path / "t.csv", "-t", "y", *QUICK, "-q", "--folds", 2, "-o", tmp_path / "m.xnet")
    assert done.returncode == 0, done.stderr
    for words in (
        ["flat", "not used", "--kind flat=number"],
        ["lift", "boolean", "25", "67 % true"],
        ["school", "category"],
    ):
        assert any(all(word in line for word in words) for line in done.stdout.splitlines()), words
    told = " ".join(done.stderr.split())
    for words in ("--kind flat=number) keeps it", "--na other", "--kind school=category", "'14.01.2023' (%d.%m.%Y)"):
        assert words in told, words
    kept = here(
        "fit", tmp_path / "t.csv", "-t", "y", *QUICK, "--kind", "flat=number", "--json", "-o", tmp_path / "m.xnet"
    )
    assert {"name": "flat", "kind": "number"} in json.loads(kept.stdout)["columns"]


def test_the_number_of_categories_can_be_chosen(here, tmp_path):
    table = pandas.DataFrame({"city": [f"c{number % 40}" for number in range(120)], "x": np.arange(120.0)})
    table.assign(y=np.random.default_rng(0).normal(size=120)).to_csv(tmp_path / "t.csv", index=False)
    known = {}
    for given, number in (([], 30), (["--max-categories", 4], 4), (["--max-categories", 100], 40)):
        done = here("fit", tmp_path / "t.csv", "-t", "y", *QUICK, "--folds", 0, *given, "-o", tmp_path / "m.xnet")
        assert done.returncode == 0, done.stderr
        model = package.load(tmp_path / "m.xnet")
        known[number] = len(model.schema_.columns[0].categories)
        learned = "40, given as a few numbers each, learned from the target" in " ".join(done.stdout.split())
        assert known[number] == 40 and learned == bool(model.levels_) == (number < 40) and "rare" not in done.stdout
    assert package.tables.TableRegressor().max_categories == 30
    compared = here(
        "compare", tmp_path / "t.csv", "-t", "y", "--method", "extra-trees", "--max-categories", 100, "--json"
    )
    usual = here("compare", tmp_path / "t.csv", "-t", "y", "--method", "extra-trees", "--json")
    assert json.loads(compared.stdout)["methods"][0]["rmse"] != json.loads(usual.stdout)["methods"][0]["rmse"]
    refused = here("fit", tmp_path / "t.csv", "-t", "y", "--max-categories", 0)
    assert refused.returncode == 2 and "--max-categories" in refused.stderr


def test_fit_in_json_agrees_with_the_file(rents, tmp_path, here):
    model = tmp_path / "m.xnet"
    quick = (*QUICK, "--folds", 2, "--coverage", 0.8, "--quiet", "--json")
    done = here("fit", rents / "train.csv", "-t", "rent", "--features", "area,district", *quick, "-o", model)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["n_rows"] == 400 and told["coverage"] == 0.8 and done.stderr == ""
    assert [column["name"] for column in told["columns"]] == ["area", "district"]
    info = json.loads(here("info", model, "--json").stdout)
    assert info["about"]["cross_validation"] == told["cross_validation"]
    loaded = package.load(model)
    assert loaded.regressor_.n_folds == 2 and loaded.regressor_.verbose == 0
    weights = [model["weight"] for model in loaded.settings_["models"]]
    assert [model["weight"] for model in told["settings"]["models"]] == weights and told["effort"] == "low"
    assert loaded.schema_.names == ["area", "district"]


def test_the_same_seed_gives_the_same_model(rents, tmp_path, extranets):
    predictions = []
    for name in ("a.xnet", "b.xnet"):
        quick = (*QUICK, "--folds", 0, "--seed", 7)
        assert extranets("fit", rents / "train.csv", "-t", "rent", *quick, "-o", tmp_path / name).returncode == 0
        predictions.append(extranets("predict", tmp_path / name, rents / "test.csv").stdout)
    assert predictions[0] == predictions[1] and predictions[0].count("\n") == 301


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "n_fold=3"], ["n_fold", "Did you mean n_folds"]),
        (["--set", "n_folds=none at all"], ["n_folds"]),
        (["--set", "n_estimators=3"], ["StackedNetsRegressor has no n_estimators", "extra-nets, bootstrap"]),
        (["--set", "nonsense"], ["NAME=VALUE"]),
        (["--method", "boostrap"], ["boostrap", "bootstrap"]),
        (["--coverage", "90"], ["between 0 and 1", "0.9 for 90 %"]),
        (["--kind", "area=float"], ["area=float", "number|boolean|date|category"]),
        (["--kind", "rent=category"], ["the target is always a number", "rent=number:STYLE", "1.234,5"]),
        (["--kind", "rent=number:German"], ["rent=number:STYLE", "1.234,5"]),
        (["--features", "aera"], ["aera", "area"]),
        (["--id", "flats"], ["flats", "flat"]),
        (["-o", "nowhere/m.xnet"], ["nowhere"]),
        (["-o", "."], ["is a folder"]),
        (["--folds", "1"], ["at least 2"]),
        (["--features", "area,rent"], ["rent is the target"]),
        (["--jobs", "0"], ["--jobs 0 has no meaning"]),
        (["--seed", "5000000000"], ["--seed", "4294967295"]),
        (["--bounds", "0", "many"], ["--bounds takes two numbers", "0 many"]),
        (["--target-transform", "ln"], ["target_transform", "'ln'"]),
        (["--bounds", "5", "1"], ["a lower and a larger upper number"]),
        (["--folds", "401"], ["--folds 401", "only 400 rows"]),
    ],
)
def test_wrong_arguments_are_named_with_the_way_out(rents, tmp_path, here, arguments, words):
    done = here("fit", rents / "train.csv", "-t", "rent", "--folds", 0, "-o", tmp_path / "m.xnet", *arguments)
    assert done.returncode == 2 and done.stdout == "" and "Traceback" not in done.stderr
    assert all(word in " ".join(done.stderr.split()) for word in words), done.stderr
    assert not (tmp_path / "m.xnet").exists()


def test_no_output_replaces_an_input(rents, tmp_path, here):
    """Whether it is named by a link or by another path; and the figures that are written beside a page count, too."""
    files = {name: (rents / name).read_bytes() for name in ("test.csv", "model.xnet")}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "link.csv").symlink_to(tmp_path / "test.csv")
    os.link(tmp_path / "test.csv", tmp_path / "page.summary.json")
    model, table = tmp_path / "model.xnet", tmp_path / "test.csv"
    for command in (
        ("fit", table, "-t", "rent", "-o", table),
        ("fit", tmp_path / "link.csv", "-t", "rent", "-o", tmp_path / ".." / tmp_path.name / "test.csv"),
        ("predict", model, table, "-o", tmp_path / "link.csv"),
        ("predict", model, table, "-o", model),
        ("report", model, table, "-o", model),
        ("report", model, table, "-o", table),
        ("report", model, table, "-o", tmp_path / "page.html"),
    ):
        done = here(*command)
        assert done.returncode == 2 and "is the same file as" in " ".join(done.stderr.split()), done.stderr
    assert {name: (tmp_path / name).read_bytes() for name in files} == files


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no folder that nobody can write to")
def test_a_folder_that_cannot_be_written_to_is_found_before_training(rents, here):
    """The check comes first: the tables and models that are named here do not exist."""
    for command in (["fit", "nowhere.csv", "-t", "y"], ["predict", "m.xnet", "t.csv"], ["report", "m.xnet", "t.csv"]):
        done = here(*command, "-o", "/proc/out.csv")
        assert done.returncode == 2 and "/proc/out.csv cannot be written" in " ".join(done.stderr.split()), done.stderr
    done = here("fit", rents / "train.csv", "-t", "rent", "-o", "/dev/null")
    assert done.returncode == 2 and "/dev/null is not a file" in done.stderr


@pytest.mark.parametrize("delimiter", ["\\t", "tab", "\t"])
def test_tabs_can_be_named(rents, here, tmp_path, delimiter):
    (tmp_path / "t.txt").write_text((rents / "test.csv").read_text().replace(",", "\t"))
    done = here("predict", rents / "model.xnet", tmp_path / "t.txt", "--delimiter", delimiter)
    assert done.returncode == 0 and done.stdout.count("\n") == 301, done.stderr


@pytest.mark.parametrize(
    ("option", "value"),
    [("--delimiter", sign) for sign in ("", ";;", "§", '"', "\n")]
    + [("--encoding", name) for name in ("base64", "rot13", "utf-99", "")],
)
def test_unusable_delimiters_and_encodings_are_refused(rents, here, option, value):
    done = here("predict", rents / "model.xnet", rents / "test.csv", option, value)
    told = " ".join(done.stderr.split())
    assert done.returncode == 2 and option in told and "Traceback" not in told
    assert "single ASCII character" in told if option == "--delimiter" else "no encoding of text" in told


def test_a_column_that_is_constant_in_a_fold(here, tmp_path):
    """The only column has a single "yes". Without that row a fold has only a constant to train on."""
    y = np.random.default_rng(0).normal(size=60)
    pandas.DataFrame({"b": ["no"] * 59 + ["yes"], "y": y}).to_csv(tmp_path / "t.csv", index=False)
    quick = (*QUICK, "--folds", 3, "-o", tmp_path / "m.xnet")
    done = here("fit", tmp_path / "t.csv", "-t", "y", *quick)
    assert done.returncode == 0 and "60 held-out rows" in done.stdout, done.stderr


def test_a_column_of_long_texts_is_left_out_by_name(here, tmp_path):
    frame = pandas.DataFrame({"x": np.arange(40.0), "t": ["a" * 10_001, "b" * 10_001] * 20, "y": np.arange(40.0)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    quick = (*QUICK, "--folds", 2, "-o", tmp_path / "m.xnet")
    done = here("fit", tmp_path / "t.csv", "-t", "y", *quick)
    assert done.returncode == 0 and "'t': it holds texts of up to 10,001 characters" in done.stderr, done.stderr


def test_ctrl_c_stops_a_fit_and_leaves_no_file(rents, tmp_path):
    command = [*COMMAND, "fit", str(rents / "train.csv"), "-t", "rent", "--preset", "paper", "--set", "max_iter=100000"]
    process = subprocess.Popen([*command, "-o", str(tmp_path / "m.xnet")], stderr=subprocess.PIPE, text=True)
    assert "Fold 1" in process.stderr.readline()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130 and "Traceback" not in errors and time.monotonic() - begin < 10
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_while_importing_shows_no_traceback(tmp_path):
    script = tmp_path / "extranets"
    script.write_text("import sys\nfrom extranets.cli import main\nsys.exit(main())\n")
    command = [sys.executable, "-X", "importtime", "extranets", "info", "m.xnet"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert any("numpy" in line for line in process.stderr)  # a line for each module that has been imported
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130 and "Traceback" not in errors and "extranets.cli" not in errors


def test_names_of_columns_are_text_and_folds_read_them_as_all_rows_do(tmp_path, extranets):
    """Brackets are not markup; one "maybe" among yes and no makes categories in every fold; one gap does not stop --strict."""
    random = np.random.default_rng(0)
    answers = np.where(random.uniform(size=90) < 0.5, "yes", "no").astype(object)
    answers[7] = "maybe"
    size = random.normal(size=90).round(3).astype(object)
    size[3] = ""
    table = pandas.DataFrame({"size [/m]": size, "answer [bold]": answers, "y": random.normal(size=90)})
    table.to_csv(tmp_path / "t.csv", index=False)
    quick = (*QUICK, "--folds", 3, "--strict", "-o", tmp_path / "m.xnet")
    done = extranets("fit", tmp_path / "t.csv", "-t", "y", *quick)
    assert done.returncode == 0, done.stderr
    assert "size [/m]" in done.stdout and "answer [bold]" in done.stdout and "Warning" not in done.stderr
    assert package.load(tmp_path / "m.xnet").strict


def test_targets_are_read_as_in_training(tmp_path, here):
    """Points between thousands: one cell with a comma shows that in training; later tables need no such cell."""
    model, quick = tmp_path / "m.xnet", (*QUICK, "--folds", 0, "--quiet")
    prices = np.random.default_rng(0).integers(1000, 9999, size=60)
    texts = [f"{price:,}".replace(",", ".") for price in prices]
    rows = [f"{price % 97};{text}" for price, text in zip(prices, texts, strict=True)]
    (tmp_path / "new.csv").write_text("\n".join(["size;price", *rows]))
    (tmp_path / "commas.csv").write_text("\n".join(["size,price", *rows]).replace(";", ","))
    (tmp_path / "train.csv").write_text("\n".join(["size;price", *rows, "5;1.234,50"]))
    # Nothing in the table shows it, so the message asks for it; then it is given.
    done = here("fit", tmp_path / "new.csv", "-t", "price", *quick, "-o", model)
    assert done.returncode == 3 and "--kind price=number:1.234,5" in " ".join(done.stderr.split())
    for file, kind in (("new.csv", ["--kind", "price=number:1.234,5"]), ("train.csv", [])):
        done = here("fit", tmp_path / file, "-t", "price", *quick, *kind, "-o", model, "--json")
        assert done.returncode == 0 and json.loads(done.stdout)["target_style"] == "1.234,5", done.stderr
        for new in ("new.csv", "commas.csv"):
            done = here("evaluate", model, tmp_path / new, "--json")
            mean = package.load(model).predict(pandas.DataFrame({"size": [str(price % 97) for price in prices]}))
            assert json.loads(done.stdout)["scores"]["rmse"] == pytest.approx(metrics.rmse(prices, mean)), done.stderr
    # A model file that does not say how targets were written: it has to be found out from each table.
    package.load(model).save(model, about={"target": "price"})
    assert "may be" in here("evaluate", model, tmp_path / "new.csv").stderr


# -- malformed tables ----------------------------------------------------------------------------------------------------


def rows_of_houses(count=70_050):
    sizes = np.random.default_rng(0).normal(size=count)
    return [f"{size:.3f},{number % 7},{2 * size:.3f}" for number, size in enumerate(sizes)]


def broken(name, tmp_path):
    header, rows = "size,rooms,price", rows_of_houses()
    if name == "ragged":
        rows[70_000] += ",1,2"
    elif name == "type":
        rows[70_000] = "much,3,1.0"
    elif name == "target type":
        rows[70_000] = "1.0,3,dear"
    elif name == "target gap":
        rows[70_000] = "1.0,3,"
    elif name == "duplicate":
        header = "size,size,price"
    elif name == "no target":
        header = "size,rooms,prize"
    elif name == "one value":
        rows = [f"{row.rsplit(',', 1)[0]},4.5" for row in rows[:500]]
    elif name == "no rows":
        rows = []
    path = tmp_path / "houses.csv"
    path.write_text("" if name == "empty" else "\n".join([header, *rows]) + "\n")
    return path


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ragged", ["70001", "5", "3"]),
        ("type", ["70001", "size", "much"]),
        ("target type", ["70001", "price", "dear"]),
        ("target gap", ["70001", "price", "--drop-missing-target"]),
        ("duplicate", ["size"]),
        ("no target", ["price", "prize"]),
        ("one value", ["price", "4.5"]),
        ("no rows", ["no rows"]),
        ("empty", ["empty"]),
    ],
)
def test_a_malformed_table_is_refused_by_file_row_and_column(tmp_path, here, name, words):
    done = here("fit", broken(name, tmp_path), "--target", "price", "-o", tmp_path / "m.xnet")
    assert done.returncode == 3 and "Traceback" not in done.stderr and done.stdout == ""
    told = " ".join(done.stderr.split())
    assert all(word in told for word in ["houses.csv", *words]), told


def test_rows_without_a_target_can_be_left_out(tmp_path, here):
    path = broken("target gap", tmp_path)
    quick = ("--preset", "fast", "--set", "n_estimators=2", "--set", "max_iter=1", "--folds", 0, "--json", "--quiet")
    done = here("fit", path, "-t", "price", "--drop-missing-target", *quick, "-o", tmp_path / "m.xnet")
    assert done.returncode == 0 and json.loads(done.stdout)["n_rows"] == 70_049, done.stderr


def test_debug_shows_the_traceback(tmp_path, extranets):
    done = extranets("fit", broken("empty", tmp_path), "--target", "price", "--debug")
    assert "Traceback" in done.stderr and "TableError" in done.stderr


# -- predict -------------------------------------------------------------------------------------------------------------


def test_predictions_are_those_of_the_model_with_the_id_beside_them(rents, extranets, tmp_path):
    path = tmp_path / "out.parquet"
    done = extranets(
        "predict", rents / "model.xnet", rents / "test.csv", "--coverage", 0.8, "--coverage", 0.95, "-o", path
    )
    assert done.returncode == 0, done.stderr
    out, table = pandas.read_parquet(path), pandas.read_csv(rents / "test.csv")
    bounds = ["lower_80", "upper_80", "lower_95", "upper_95"]
    assert out.columns.tolist() == ["flat", "prediction", "sd", *bounds]
    assert out["flat"].tolist() == table["flat"].tolist()
    model = package.load(rents / "model.xnet")
    mean, std = model.predict(table, return_std=True)
    np.testing.assert_allclose(out["prediction"], mean, rtol=1e-12)
    np.testing.assert_allclose(out["sd"], std, rtol=1e-12)
    expected = model.predict_interval(table, [0.8, 0.95])
    np.testing.assert_allclose(out[bounds], expected.transpose(0, 2, 1).reshape(-1, 4), rtol=1e-12)


def test_standard_input_to_standard_output_gives_the_same(rents, extranets):
    piped = extranets("predict", rents / "model.xnet", "-", input=(rents / "test.csv").read_text())
    assert (
        piped.returncode == 0 and piped.stdout == extranets("predict", rents / "model.xnet", rents / "test.csv").stdout
    )
    assert piped.stdout.splitlines()[0] == "flat,prediction,sd,lower_90,upper_90"


def test_components_and_members(rents, here, tmp_path):
    path = tmp_path / "out.csv"
    keep = ("--components", "--members", "--keep", "district", "-o", path)
    assert here("predict", rents / "model.xnet", rents / "test.csv", *keep).returncode == 0
    out = pandas.read_csv(path)
    np.testing.assert_allclose(out["epistemic_sd"] ** 2 + out["aleatoric_sd"] ** 2, out["sd"] ** 2, rtol=1e-9)
    known = package.load(rents / "model.xnet").predict_members(pandas.read_csv(rents / "test.csv"))
    members = out[[f"member_{number}" for number in range(len(known))]]
    np.testing.assert_allclose(members.T, known, rtol=1e-5)
    assert out.columns[:2].tolist() == ["flat", "district"]


def test_json_lines(rents, here):
    done = here("predict", rents / "model.xnet", rents / "test.csv", "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == 300 and list(lines[0]) == ["flat", "prediction", "sd", "lower_90", "upper_90"]


def test_blocks_do_not_change_predictions(rents, extranets, tmp_path):
    """The table is the test table, repeated until it has more rows than one block holds."""
    table = pandas.read_csv(rents / "test.csv")
    large = tmp_path / "large.parquet"
    pandas.concat([table] * 250, ignore_index=True).to_parquet(large)
    out = tmp_path / "out.parquet"
    assert extranets("predict", rents / "model.xnet", large, "-o", out).returncode == 0
    found = pandas.read_parquet(out)["prediction"].to_numpy().reshape(250, 300)
    assert (found == found[0]).all()
    np.testing.assert_allclose(found[0], package.load(rents / "model.xnet").predict(table), rtol=1e-12)


def test_a_closed_pipe_is_not_an_error(rents):
    command = [*COMMAND, "predict", str(rents / "model.xnet"), str(rents / "test.csv")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    errors = process.stderr.read()
    process.wait(timeout=30)
    assert "Traceback" not in errors and "Exception" not in errors


@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP"])
def test_a_terminated_prediction_leaves_no_file(rents, tmp_path, number):
    command = [*COMMAND, "predict", str(rents / "model.xnet"), "-", "-o", str(tmp_path / "out.csv")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    header, *rows = (rents / "test.csv").read_text().splitlines(keepends=True)
    process.stdin.writelines([header, *rows * 60])  # more than is read ahead
    process.stdin.flush()
    for _ in range(600):  # until the file has been begun
        if list(tmp_path.iterdir()):
            break
        time.sleep(0.05)
    process.send_signal(getattr(signal, number))
    process.stdin.close()
    process.wait(timeout=30)
    assert process.returncode == 128 + getattr(signal, number) and list(tmp_path.iterdir()) == []


def test_a_fit_goes_on_when_nobody_reads_its_output(rents, tmp_path):
    quick = (*QUICK, "--folds", "2", "-q", "-o", str(tmp_path / "m.xnet"))
    command = [*COMMAND, "fit", str(rents / "train.csv"), "-t", "rent", *quick]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    errors = process.stderr.read()
    assert process.wait(timeout=60) == 0 and "Model:" in errors and (tmp_path / "m.xnet").exists()


def test_a_terminal_that_lacks_a_letter_shows_another(rents):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [*COMMAND, "evaluate", str(rents / "model.xnet"), str(rents / "test.csv")]
    done = subprocess.run(command, capture_output=True, env=environment)
    assert done.returncode == 0 and b"R?" in done.stdout and done.stdout.isascii(), done.stderr


def test_one_row_is_one_row(rents, here, tmp_path):
    (tmp_path / "one.csv").write_text("".join((rents / "test.csv").read_text().splitlines(keepends=True)[:2]))
    done = here("predict", rents / "model.xnet", tmp_path / "one.csv", "-o", tmp_path / "out.csv")
    assert "1 row in" in done.stderr, done.stderr


def test_a_folder_that_does_not_exist_is_not_written_to(rents, here, tmp_path):
    done = here("predict", rents / "model.xnet", rents / "test.csv", "-o", tmp_path / "nodir" / "o.csv")
    assert done.returncode == 2 and "there is no folder" in done.stderr


def test_a_kept_column_may_begin_like_a_prediction(rents, here, tmp_path):
    names = {"flat": "member_id", "listed": "lower_90", "balcony": "upper_bound"}
    table = pandas.read_csv(rents / "test.csv")
    for name, other in names.items():
        table[other] = table[name]
    table.to_csv(tmp_path / "t.csv", index=False)
    keep = ("--keep", "member_id", "--keep", "upper_bound")
    done = here("predict", rents / "model.xnet", tmp_path / "t.csv", *keep)
    assert done.stdout.splitlines()[0] == "flat,member_id,upper_bound,prediction,sd,lower_90,upper_90", done.stderr
    done = here("predict", rents / "model.xnet", tmp_path / "t.csv", "--keep", "lower_90")
    assert done.returncode == 2 and "lower_90 is the name of a column that is written" in done.stderr
    done = here("predict", rents / "model.xnet", tmp_path / "t.csv", "--keep", "lower_90", "--coverage", 0.8)
    assert done.returncode == 0, done.stderr


def test_a_kept_column_must_not_hide_a_prediction(rents, here, tmp_path):
    table = pandas.read_csv(rents / "test.csv").rename(columns={"flat": "sd"})
    table.to_csv(tmp_path / "t.csv", index=False)
    done = here("predict", rents / "model.xnet", tmp_path / "t.csv", "--keep", "sd")
    assert done.returncode == 2 and "rename it" in done.stderr


def test_new_categories_and_gaps_are_named_at_prediction(rents, extranets, tmp_path):
    table = pandas.read_csv(rents / "test.csv")
    table.loc[0, "district"], table.loc[1, "area"] = "Moon", np.nan
    table.to_csv(tmp_path / "new.csv", index=False)
    done = extranets("predict", rents / "model.xnet", tmp_path / "new.csv")
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 301
    assert all(word in done.stderr for word in ("Warning", "district", "Moon", "area"))
    assert extranets("evaluate", rents / "model.xnet", tmp_path / "new.csv").stderr.count("Moon") == 1
    table.drop(columns=["built", "area"]).to_csv(tmp_path / "less.csv", index=False)
    done = extranets("predict", rents / "model.xnet", tmp_path / "less.csv")
    assert done.returncode == 3 and all(word in done.stderr for word in ("less.csv", "built", "area"))


def test_a_failed_prediction_leaves_no_file(rents, here, tmp_path):
    table = pandas.read_csv(rents / "test.csv", dtype=str)
    table.loc[299, "area"] = "large"
    table.to_csv(tmp_path / "new.csv", index=False)
    done = here("predict", rents / "model.xnet", tmp_path / "new.csv", "-o", tmp_path / "out.csv")
    assert done.returncode == 3 and all(word in done.stderr for word in ("new.csv", "300", "area", "large"))
    assert not (tmp_path / "out.csv").exists()


def test_a_value_too_far_from_training_is_named(rents, here, tmp_path):
    table = pandas.read_csv(rents / "test.csv")
    table.loc[280, "area"] = 1e200
    table.to_csv(tmp_path / "new.csv", index=False)
    for command in ("predict", "evaluate"):
        done = here(command, rents / "model.xnet", tmp_path / "new.csv")
        assert done.returncode == 3 and "new.csv, row 281, column 'area': 1e+200 lies" in done.stderr, done.stderr


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not a model", b"\x80\x04}."])
def test_a_file_that_is_not_a_model_has_its_own_exit_code(rents, here, tmp_path, content):
    (tmp_path / "bad.xnet").write_bytes(content)
    done = here("predict", tmp_path / "bad.xnet", rents / "test.csv")
    assert done.returncode == 4 and "bad.xnet" in done.stderr and "Traceback" not in done.stderr


def test_an_estimator_of_arrays_is_refused_with_the_way_out(rents, here, tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 2))
    package.PBPRegressor(max_iter=2).fit(X, X[:, 0]).save(tmp_path / "m.xnet")
    done = here("predict", tmp_path / "m.xnet", rents / "test.csv")
    assert done.returncode == 4 and "TableRegressor" in done.stderr


# -- evaluate, compare, info ---------------------------------------------------------------------------------------------


def test_evaluate_gives_the_scores_of_the_predictions(rents, here):
    told = json.loads(here("evaluate", rents / "model.xnet", rents / "test.csv", "--json", "--coverage", 0.7).stdout)
    table = pandas.read_csv(rents / "test.csv")
    model, y = package.load(rents / "model.xnet"), table["rent"].to_numpy()
    assert told["n_rows"] == 300 and told["scores"]["rmse"] == pytest.approx(metrics.rmse(y, model.predict(table)))
    lines = {line["nominal"]: line for line in told["coverage"]}
    assert set(lines) == {0.5, 0.7, 0.8, 0.9, 0.95, 0.99}
    lower, upper = model.predict_interval(table, 0.7).T
    assert lines[0.7]["observed"] == metrics.coverage(y, lower, upper)
    assert lines[0.7]["low"] < lines[0.7]["observed"] < lines[0.7]["high"]


def test_evaluate_prints_a_table_with_limits(rents, extranets):
    done = extranets("evaluate", rents / "model.xnet", rents / "test.csv")
    assert done.returncode == 0
    assert all(
        word in done.stdout for word in ("RMSE", "CRPS", "log-likelihood", "95 % limits", "90.0 %", "interval score")
    )


def test_conformal_intervals_by_district(rents, here, tmp_path):
    """From held-out rows to a file whose predictions find the groups in their tables."""
    test = pandas.read_csv(rents / "test.csv")
    test[:200].to_csv(tmp_path / "held.csv", index=False)
    test[200:].to_csv(tmp_path / "new.csv", index=False)
    model = tmp_path / "conformal.xnet"
    done = here("conformalize", rents / "model.xnet", tmp_path / "held.csv", "--group", "balcony", "-o", model)
    assert done.returncode == 0, done.stderr
    sizes = test[:200].balcony.value_counts()
    for name, n in sizes.items():
        (line,) = [line for line in done.stdout.splitlines() if f" {name} " in line]
        assert f" {n} " in line and f"{100 * (n - 1) / (n + 1):.1f} %" in line
    loaded = package.load(model)
    assert loaded.beside_columns_ == {"groups": "balcony"}
    frame = here("predict", model, tmp_path / "new.csv", "--coverage", "0.8", "-o", tmp_path / "out.csv")
    assert frame.returncode == 0, frame.stderr
    found = pandas.read_csv(tmp_path / "out.csv")[["lower_80", "upper_80"]]
    np.testing.assert_allclose(found, loaded.predict_interval(test[200:], 0.8), rtol=1e-6)
    assert "conformal" in here("info", model).stdout and "group='balcony'" in here("info", model).stdout
    as_json = json.loads(
        here("conformalize", model, tmp_path / "held.csv", "--tails", "joint", "--json", "-o", model).stdout
    )
    assert as_json["tails"] == "joint" and as_json["groups"][0]["n_rows"] == 200
    judged = json.loads(here("evaluate", model, tmp_path / "new.csv", "--json").stdout)
    assert judged["n_rows"] == 100


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tails", "both"], "--tails: there is no both"),
        (["--group", "balcone"], "Did you mean balcony?"),
        (["--weight", "rent"], "--weight: rent is the target"),
        (["--weight", "district"], "is not a number"),
    ],
)
def test_conformalize_names_wrong_arguments(rents, here, tmp_path, arguments, words):
    done = here("conformalize", rents / "model.xnet", rents / "test.csv", "-o", tmp_path / "m.xnet", *arguments)
    assert done.returncode != 0 and words in " ".join(done.stderr.split())
    assert not (tmp_path / "m.xnet").exists()


def test_conformalize_refuses_rows_of_the_fit(rents, here, tmp_path):
    done = here("conformalize", rents / "model.xnet", rents / "train.csv", "-o", tmp_path / "m.xnet")
    assert done.returncode == 1 and "rows were in the fit" in " ".join(done.stderr.split())


def test_compare_ranks_methods(rents, extranets):
    methods = ("--method", "pbp", "--method", "gradient boosting")
    done = extranets(
        "compare", rents / "train.csv", "-t", "rent", "--id", "flat", *methods, "--folds", 2, "--rows", 100
    )
    assert done.returncode == 0, done.stderr
    assert "pbp" in done.stdout and "gradient boosting" in done.stdout and "±" in done.stdout
    assert "100 of 400 rows" in done.stderr and "pbp: fold 2 of 2" in done.stderr


def test_compare_names_a_method_that_does_not_exist(rents, here):
    done = here("compare", rents / "train.csv", "-t", "rent", "--method", "pdp")
    assert done.returncode == 2 and "pbp" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--jobs", 0], "--jobs 0 has no meaning"),
        (["--seed", 5_000_000_000], "4294967295"),
        (["--folds", 401], "there are only 400 rows"),
        (["--folds", 31, "--rows", 30], "there are only 30 rows"),
    ],
)
def test_compare_refuses_what_no_method_can_do(rents, here, arguments, words):
    done = here("compare", rents / "train.csv", "-t", "rent", *arguments)
    assert done.returncode == 2 and words in " ".join(done.stderr.split()) and "fold 1" not in done.stderr


def test_r2_shows_when_there_is_nothing_to_learn(here, tmp_path):
    """Cross-validated R² of a target that has nothing to do with the features: not above what chance gives."""
    random = np.random.default_rng(0)
    frame = pandas.DataFrame({"x": random.normal(size=100), "y": 1000 + random.normal(size=100)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    quick = (*QUICK, "--folds", 2, "-o", tmp_path / "m.xnet")
    assert "R²" in here("fit", tmp_path / "t.csv", "-t", "y", *quick).stdout
    told = json.loads(here("fit", tmp_path / "t.csv", "-t", "y", *quick, "--json").stdout)["cross_validation"]
    assert told["r2"] == pytest.approx(1 - told["rmse"] ** 2 / frame["y"].var(ddof=0)) and told["r2"] < 0.2


def test_info_tells_what_is_inside(rents, here):
    done = here("info", rents / "model.xnet")
    words = (
        "StackedNetsRegressor",
        "400 rows",
        "rent",
        "n_folds=2",
        "ridge regression",
        "R² held out",
        "district",
        "category",
        "cross-validated",
        "RMSE",
    )
    assert done.returncode == 0 and all(word in done.stdout for word in words), done.stdout


def test_info_finds_a_flipped_bit(rents, here, tmp_path):
    content = bytearray((rents / "model.xnet").read_bytes())
    content[-100] ^= 4
    (tmp_path / "bad.xnet").write_bytes(content)
    assert here("info", tmp_path / "bad.xnet").returncode == 4
    assert here("info", tmp_path / "bad.xnet", "--json").returncode == 4


# -- report, demo --------------------------------------------------------------------------------------------------------


def test_report_writes_a_page_and_its_figures(rents, extranets, tmp_path):
    page = tmp_path / "report.html"
    done = extranets("report", rents / "model.xnet", rents / "test.csv", "-o", page, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"report": str(page), "summary": str(tmp_path / "report.summary.json")}
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    json.loads((tmp_path / "report.summary.json").read_text())


def test_report_is_about_the_coverage_of_the_model(rents, extranets, tmp_path):
    quick = (
        *QUICK,
        "--folds",
        0,
        "--coverage",
        0.975,
        "-o",
        tmp_path / "m.xnet",
    )
    assert extranets("fit", rents / "train.csv", "-t", "rent", *quick).returncode == 0
    assert extranets("report", tmp_path / "m.xnet", rents / "test.csv", "-o", tmp_path / "r.html").returncode == 0
    assert "97.5 %" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_report_names_a_source_that_does_not_exist(here):
    done = here("report", "nope")
    assert done.returncode == 2 and "there is no file nope" in done.stderr


def test_report_needs_a_table_or_a_run(rents, here, tmp_path):
    assert here("report", rents / "model.xnet").returncode == 2
    assert here("report", tmp_path, rents / "test.csv").returncode == 2
    done = here("report", tmp_path)
    assert done.returncode == 1 and "is not a run" in done.stderr


def test_demo_goes_the_whole_way(extranets, tmp_path):
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "train.csv").write_text("of an earlier run")
    done = extranets("demo", tmp_path / "demo", "--rows", 200, "--force")
    assert done.returncode == 0, done.stderr
    files = {path.name for path in (tmp_path / "demo").iterdir()}
    assert files == {"train.csv", "test.csv", "model.xnet", "predictions.csv", "report.html", "report.summary.json"}
    assert "$ extranets fit" in done.stderr and "$ extranets report" in done.stderr


def test_demo_overwrites_nothing_unasked(here, tmp_path):
    (tmp_path / "model.xnet").write_text("mine")
    done = here("demo", tmp_path, "--rows", 200)
    assert done.returncode == 2 and "--force" in done.stderr and "model.xnet would be overwritten" in done.stderr
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("command", ["fit", "conformalize", "predict", "evaluate", "compare", "report", "info", "demo"])
def test_help_has_an_example(here, command):
    done = here(command, "--help")
    assert done.returncode == 0 and "Example" in done.stdout and f"extranets {command}" in done.stdout


def test_version_and_exit_codes_are_told(extranets):
    assert extranets("--version").stdout.strip() == f"extranets {package.__version__}"
    assert "Exit codes" in extranets("--help").stdout


def test_the_warnings_of_a_fit_are_shown_once(here, tmp_path):
    """And not again by every fold of the cross-validation."""
    rows = [f"{x},{x * x}\n" for x in range(60)]
    (tmp_path / "copies.csv").write_text("".join(["x,y\n", *rows, *rows[:20]]))
    quick = (*QUICK, "-q")
    done = here("fit", tmp_path / "copies.csv", "-t", "y", *quick, "-o", tmp_path / "m.xnet")
    assert done.returncode == 0 and done.stderr.count("rows are copies of others") == 1, done.stderr
    methods = ("--method", "extra-nets", "--method", "bootstrap")
    done = here("compare", tmp_path / "copies.csv", "-t", "y", *methods, "--folds", "2", "-q")
    assert done.returncode == 0 and done.stderr.count("rows are copies of others") == 1, done.stderr


def test_infinite_scores_do_not_lose_the_model(here, tmp_path):
    """CV+ intervals from too few rows are infinite."""
    (tmp_path / "few.csv").write_text("x,y\n" + "".join(f"{x},{x * x}\n" for x in range(12)))
    small = ("--method", "extra-nets", "--set", "interval=cv+", "--set", "n_estimators=2", "--set", "max_iter=2")
    levels = ("--coverage", "0.95", "--folds", "3", "-q", "-o", tmp_path / "m.xnet")
    done = here("fit", tmp_path / "few.csv", "-t", "y", *small, *levels)
    assert done.returncode == 0 and "intervals are infinite" in done.stderr, done.stderr
    assert "inf" in done.stdout and package.load(tmp_path / "m.xnet").regressor_.interval == "cv+"


# -- groups and time -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """A series that drifts, of eight shops, in the order of days."""
    random = np.random.default_rng(0)
    day, shop = pandas.date_range("2023-01-01", periods=400), random.integers(0, 8, 400)
    level = random.normal(size=8)[shop] + 0.01 * np.arange(400)
    table = pandas.DataFrame(
        {"day": day.strftime("%d.%m.%Y"), "shop": [f"s{k}" for k in shop], "ad": random.normal(size=400)}
    )
    table["sold"] = level + table["ad"] + 0.3 * random.normal(size=400)
    folder = tmp_path_factory.mktemp("visits")
    table[:300].to_csv(folder / "train.csv", index=False)
    table[300:].to_csv(folder / "test.csv", index=False)
    return folder


def test_fit_by_time_or_group(visits, here, tmp_path):
    model = tmp_path / "m.xnet"
    fit = ("fit", visits / "train.csv", "-t", "sold", *QUICK, "--folds", 2, "-o", model)
    at_random = here(*fit)
    assert "order of the date 'day'" in at_random.stderr and "(--time day)" in at_random.stderr
    by_time = here(*fit, "--time", "day")
    assert "order of the date" not in by_time.stderr and "200 held-out rows" in by_time.stdout
    assert "each later than the rows of its fit" in " ".join(by_time.stdout.split())
    told = json.loads(here(*fit, "-q", "--json", "--group", "shop").stdout)
    assert told["cross_validation"]["parting"] == "groups" and told["group"] == "shop" and told["time"] is None
    assert [column["name"] for column in told["columns"]] == ["day", "ad"]
    assert "shop" in here("info", model).stdout
    kept = json.loads(here(*fit, "-q", "--json", "--group", "shop", "--features", "shop,ad").stdout)
    assert {column["name"] for column in kept["columns"]} == {"shop", "ad"}


def test_wrong_groups_and_times_are_refused(visits, here):
    fit = ("fit", visits / "train.csv", "-t", "sold")
    for given, words in (
        (("--time", "dya"), "Did you mean day?"),
        (("--group", "sold"), "sold is the target"),
        (("--group", "shop", "--time", "day"), "not both"),
    ):
        done = here(*fit, *given)
        assert done.returncode == 2 and words in " ".join(done.stderr.split()), done.stderr
    done = here(*fit, "--time", "shop")
    assert done.returncode == 3 and "column 'shop'" in done.stderr
    done = here(*fit, "--time", "day", "--method", "pbp")
    assert done.returncode == 1 and "PBPRegressor leaves none out" in done.stderr


def test_compare_by_time(visits, here):
    methods = ("--method", "stack", "--method", "extra-trees", "--method", "pbp", "--folds", 2)
    told = json.loads(
        here("compare", visits / "train.csv", "-t", "sold", *methods, "-q", "--json", "--time", "day").stdout
    )
    assert not told["failed"] and len(told["methods"]) == 3
    at_random = json.loads(here("compare", visits / "train.csv", "-t", "sold", *methods, "-q", "--json").stdout)
    rmse = [{line["method"]: line["rmse"] for line in each["methods"]} for each in (told, at_random)]
    assert all(rmse[0][name] > rmse[1][name] for name in ("stack", "extra-trees"))


def test_bounds_and_transforms_of_the_target(here, tmp_path):
    random = np.random.default_rng(0)
    x = random.normal(size=80)
    pandas.DataFrame({"x": x, "y": np.clip(50 + 40 * x, 0, 100)}).to_csv(tmp_path / "t.csv", index=False)
    quick = (*QUICK, "--folds", 0, "-q", "-o", tmp_path / "m.xnet")
    here("fit", tmp_path / "t.csv", "-t", "y", "--bounds", "none", 100, *quick)
    assert package.load(tmp_path / "m.xnet").regressor_.bounds == (None, 100)
    new = pandas.DataFrame({"x": [-5.0, 5.0]})
    lower, upper = package.load(tmp_path / "m.xnet").predict_interval(new).T
    assert lower[0] < 0 and upper[1] == 100
    here("fit", tmp_path / "t.csv", "-t", "y", "--target-transform", "sqrt", *quick)
    assert package.load(tmp_path / "m.xnet").settings_["target_transform"] == "sqrt"
    refused = here("fit", tmp_path / "t.csv", "-t", "y", "--bounds", 0, 50, *quick)
    assert refused.returncode and "not within bounds=(0, 50)" in refused.stderr


def test_predict_says_which_rows_are_new_to_the_model_and_how(visits, here, tmp_path):
    model, new = tmp_path / "m.xnet", tmp_path / "new.csv"
    here("fit", visits / "train.csv", "-t", "sold", *QUICK, "--folds", 0, "-q", "-o", model)
    table = pandas.read_csv(visits / "train.csv").drop(columns="sold")[100:110].reset_index(drop=True)
    table.loc[[2, 4], "ad"] = [77.0, -77.0]
    table.loc[6, "day"], table.loc[8, "shop"] = "01.05.2031", "s99"
    table.to_csv(new, index=False)
    done = here("predict", model, new, "--novelty")
    said = " ".join(done.stderr.split())
    assert "'ad': 2 of 10 values are outside of training" in said and "in rows 3, 5." in said
    assert "'day': 1 of 10 values is later than the last date of training, 2023-10-27, in row 7." in said
    assert "'shop': 1 row holds values that were not seen in training" in said
    predicted = pandas.read_csv(io.StringIO(done.stdout))
    assert predicted.columns[-1] == "novelty" and np.flatnonzero(predicted["novelty"] == 1).tolist() == [2, 4, 6, 8]
    assert "novelty" not in here("predict", model, new).stdout


def test_evaluate_and_report_show_coverage_over_time_and_by_group(visits, here, tmp_path):
    """What the fit was told is shown without being asked for; what is asked for, too."""
    model, page = tmp_path / "m.xnet", tmp_path / "r.html"
    here("fit", visits / "train.csv", "-t", "sold", *QUICK, "--folds", 0, "-q", "--time", "day", "-o", model)
    told = json.loads(here("evaluate", model, visits / "test.csv", "--json", "--group", "shop").stdout)
    assert [part["n"] for part in told["over_time"]["parts"]] == [20] * 5 and told["over_time"]["name"] == "day"
    assert sum(part["n"] for part in told["by_group"]["parts"]) == 100
    assert {part["label"] for part in told["by_group"]["parts"]} <= {f"s{k}" for k in range(8)}
    assert sum(part["n"] for part in told["by_novelty"]["parts"]) == 100
    shown = " ".join(here("evaluate", model, visits / "test.csv").stdout.split())
    assert "Coverage over time: day" in shown and "Coverage by group" not in shown and "Coverage by novelty" in shown
    assert here("report", model, visits / "test.csv", "--group", "shop", "-o", page).returncode == 0
    assert "Coverage over time: day" in page.read_text() and "Coverage by group: shop" in page.read_text()
    wrong = here("evaluate", model, visits / "test.csv", "--time", "dya")
    assert wrong.returncode == 2 and "Did you mean day?" in " ".join(wrong.stderr.split())


def test_update_lets_intervals_follow_and_keeps_what_the_file_says(visits, here, tmp_path):
    model, later = tmp_path / "m.xnet", tmp_path / "later.xnet"
    here("fit", visits / "train.csv", "-t", "sold", *QUICK, "--folds", 0, "-q", "--kind", "day=ignore", "-o", model)
    told = json.loads(here("update", model, visits / "test.csv", "--time", "day", "-o", later, "--json").stdout)
    assert told["n_rows"] == 100 and told["n_updates"] == 5 and told["without"] < told["inside"]
    before, after = (json.loads(here("info", each, "--json").stdout)["about"] for each in (model, later))
    assert before == after
    assert package.load(later).regressor_.model_.adaptive.n_rows == 100
    assert "updated" in here("info", later).stdout and "updated" not in here("info", model).stdout
    said = here("update", model, visits / "test.csv")
    assert "100 rows in 5 updates" in said.stderr and package.load(model).regressor_.model_.adaptive.n_rows == 100
    np.testing.assert_array_equal(
        *(pandas.read_csv(io.StringIO(here("predict", each, visits / "test.csv").stdout)) for each in (model, later))
    )
    missing = here("update", tmp_path / "none.xnet", visits / "test.csv")
    assert missing.returncode == 2 and "there is no file" in " ".join(missing.stderr.split())


def test_a_fit_with_a_checkpoint_goes_on_and_writes_the_same_model(here, tmp_path):
    table = pandas.DataFrame({"x": np.linspace(0, 1, 60)}).assign(y=lambda t: 10 + t.x**2 + 0.1 * np.sin(99 * t.x))
    table.to_csv(tmp_path / "t.csv", index=False)
    quick = ["--effort", "low", "--folds", "2", "--quiet", "--json"]
    predictions = []
    for name in ("plain", "kept", "again"):
        given = [] if name == "plain" else ["--checkpoint", tmp_path / "folder"]
        here("fit", tmp_path / "t.csv", "-t", "y", "-o", tmp_path / name, *given, *quick)
        predictions.append(here("predict", tmp_path / name, tmp_path / "t.csv", "-o", "-").stdout)
    assert predictions[0] == predictions[1] == predictions[2]
    n_files = len(list((tmp_path / "folder").iterdir()))
    assert n_files
    for given, words in (
        (["--tune", "5"], "--checkpoint and --tune do not go together"),
        (["--method", "pbp"], "pbp trains a single network"),
    ):
        refused = here("fit", tmp_path / "t.csv", "-t", "y", "--checkpoint", tmp_path / "folder", *given)
        assert refused.returncode == 2 and words in " ".join(refused.stderr.split())
    refused = here("fit", tmp_path / "t.csv", "-t", "y", "--checkpoint", tmp_path / "t.csv")
    assert refused.returncode == 2 and "--checkpoint takes a folder" in " ".join(refused.stderr.split())
