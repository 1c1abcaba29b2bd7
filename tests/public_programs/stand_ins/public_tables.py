"""Tables without a download: `pandas.read_csv` and `numpy.loadtxt` of a known file name give small random rows."""

import functools
import os

import numpy as np

ROWS = int(os.environ.get("PUBLIC_ROWS", "240"))


def patch_pandas():
    try:
        import pandas
    except ImportError:
        return
    read = pandas.read_csv

    @functools.wraps(read)
    def read_csv(path, *args, **options):
        made = _table(str(path), options)
        return read(path, *args, **options) if made is None else made

    pandas.read_csv = read_csv
    loadtxt = np.loadtxt
    np.loadtxt = lambda path, *args, **options: (
        _waves() if "FordA" in str(path) else loadtxt(path, *args, **options)
    )


def _table(path, options):
    import pandas

    for part, made in _TABLES.items():
        if part in path:
            columns = made(np.random.RandomState(len(path)))
            frame = pandas.DataFrame(columns)
            if options.get("names") is not None and len(options["names"]) == frame.shape[1]:
                frame.columns = options["names"]
            if options.get("index_col"):
                frame = frame.set_index(options["index_col"])
            return frame
    return None


def _waves():
    random = np.random.RandomState(4)
    labels = random.choice([-1, 1], ROWS)
    time = np.arange(500) / 25
    rows = np.sin(time[None] * np.where(labels, 2 + labels, 1)[:, None]) + random.rand(ROWS, 500) * 0.2
    return np.concatenate([labels[:, None], rows], axis=1)


def _heart(random):
    label = random.randint(0, 2, ROWS)
    numbers = {
        "age": (29, 78), "sex": (0, 2), "cp": (0, 5), "trestbps": (94, 200), "chol": (126, 400), "fbs": (0, 2),
        "restecg": (0, 3), "thalach": (71, 202), "exang": (0, 2), "slope": (1, 4), "ca": (0, 4),
    }  # fmt: skip
    table = {name: random.randint(low, high, ROWS) for name, (low, high) in numbers.items()}
    return {
        **table,
        "oldpeak": random.rand(ROWS) + label,
        "thal": random.choice(["fixed", "normal", "reversible"], ROWS),
        "target": label,
    }


def _adult(random):
    def words(*choices):
        return random.choice([" " + one for one in choices], ROWS)

    income = random.randint(0, 2, ROWS)
    return {
        "age": random.randint(17, 60, ROWS) + 20 * income,
        "workclass": words("Private", "State-gov"),
        "fnlwgt": random.randint(10000, 90000, ROWS),
        "education": words("Bachelors", "HS-grad"),
        "education_num": random.randint(1, 16, ROWS),
        "marital_status": words("Divorced", "Never-married"),
        "occupation": words("Sales", "Tech-support"),
        "relationship": words("Wife", "Husband"),
        "race": words("White", "Black"),
        "gender": words("Male", "Female"),
        "capital_gain": random.randint(0, 5000, ROWS),
        "capital_loss": random.randint(0, 500, ROWS),
        "hours_per_week": random.randint(10, 60, ROWS),
        "native_country": words("Cuba", "India"),
        "income_bracket": np.where(income, " >50K", " <=50K"),
    }


def _adult_test(random):
    table = _adult(random)
    return {**table, "income_bracket": [one + "." for one in table["income_bracket"]]}


def _cover_types(random):
    wilderness, soil = np.eye(4, dtype=int)[np.arange(ROWS) % 4], np.eye(40, dtype=int)[np.arange(ROWS) % 40]
    numbers = random.randint(0, 300, (ROWS, 10))
    label = 1 + numbers[:, :1] * 7 // 300
    return dict(enumerate(np.concatenate([numbers, wilderness, soil, label], axis=1).T))


def _papers(random):
    subjects = random.randint(0, 7, ROWS)
    terms = random.rand(ROWS, 1433) < 0.01 + 0.05 * (np.arange(1433)[None] % 7 == subjects[:, None])
    names = np.array(["Case_Based", "Genetic", "Neural", "Probabilistic", "Reinforcement", "Rule", "Theory"])
    return {
        "paper_id": np.arange(ROWS) * 7 + 3,
        **dict(enumerate(terms.astype(int).T)),
        "subject": names[subjects],
    }


def _citations(random):
    return {
        "target": random.randint(0, ROWS, 4 * ROWS) * 7 + 3,
        "source": random.randint(0, ROWS, 4 * ROWS) * 7 + 3,
    }


def _ratings(random, user="userId", movie="movieId"):
    users, movies = random.randint(1, 40, 10 * ROWS), random.randint(1, 60, 10 * ROWS)
    return {
        user: users,
        movie: movies,
        "rating": 1 + (users + movies) % 5,
        "timestamp": np.arange(10 * ROWS) * 1000,
    }


def _movies(random, movie="movieId"):
    at = np.arange(1, 60)
    return {
        movie: at,
        "title": [f"Film {one}" for one in at],
        "genres": np.where(at % 2, "Drama|War", "Comedy"),
    }


def _users(random):
    at = np.arange(1, 40)
    return {"user_id": at, "sex": np.where(at % 2, "M", "F"), "age": at % 5, "job": at % 7, "zip": at + 1000}


def _hourly(random, jump=0):
    import pandas

    count = 4032
    times = pandas.date_range("2014-04-01", periods=count, freq="5min")
    values = np.sin(np.arange(count) / 288 * 6.28) * 20 + 40 + random.rand(count)
    values[3000:3100] += jump
    return {"timestamp": times, "value": values}


def _weather(random):
    names = [
        "Date Time", "p (mbar)", "T (degC)", "Tpot (K)", "Tdew (degC)", "rh (%)", "VPmax (mbar)", "VPact (mbar)",
        "VPdef (mbar)", "sh (g/kg)", "H2OC (mmol/mol)", "rho (g/m**3)", "wv (m/s)", "max. wv (m/s)", "wd (deg)",
    ]  # fmt: skip
    count = 20 * ROWS
    waves = {
        one: np.sin(np.arange(count) / (50 + at)) + random.rand(count) * 0.1 for at, one in enumerate(names)
    }
    return {**waves, "Date Time": [f"01.01.2009 {at}" for at in range(count)]}


def _speeds(random):
    return dict(enumerate((np.sin(np.arange(2000)[:, None] / 40 + np.arange(228)) * 10 + 60).T))


def _distances(random):
    return dict(enumerate(random.rand(228, 228) * 20000))


def _headset(random):
    label = random.choice(["blink1", "blink2", "math1", "relax", "unlabeled"], ROWS)
    values = [str(list(random.randint(-200, 200, 512))) for _ in range(ROWS)]
    unused = {name: [0] * ROWS for name in (
        "Unnamed: 0", "id", "eeg_power", "signal_quality", "reading_time", "indra_time", "browser_latency",
        "attention_esense", "meditation_esense", "updatedAt", "createdAt",
    )}  # fmt: skip
    return {**unused, "label": label, "raw_values": values}


def _abstracts(random):
    terms = ["['cs.LG']", "['cs.CV']", "['cs.LG', 'stat.ML']"]
    kinds = random.randint(0, 3, ROWS)
    return {
        "titles": [f"title {at}" for at in range(ROWS)],
        "summaries": [
            " ".join(f"term{one * 40 + random.randint(0, 40)}" for _ in range(20)) for one in kinds
        ],
        "terms": [terms[one] for one in kinds],
    }


_TABLES = {
    "heart.csv": _heart,
    "adult.data": _adult,
    "adult.test": _adult_test,
    "covtype": _cover_types,
    "cora.content": _papers,
    "cora.cites": _citations,
    "ratings.csv": _ratings,
    "movies.csv": _movies,
    "ratings.dat": lambda random: _ratings(random, "user_id", "movie_id"),
    "movies.dat": lambda random: _movies(random, "movie_id"),
    "users.dat": _users,
    "jumpsup": lambda random: _hourly(random, jump=80),
    "NAB/": _hourly,
    "jena_climate": _weather,
    "PeMSD7_V": _speeds,
    "PeMSD7_W": _distances,
    "eeg-data": _headset,
    "arxiv_data": _abstracts,
}
