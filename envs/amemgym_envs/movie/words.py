"""The words that the films and their people are made of. Nobody and nothing here is meant to exist."""

FIRST = tuple(
    "Ada Anton Berit Bruno Carla Cyrus Dalia Edwin Elena Farid Greta Hugo Ines Ivor Jana Joris Kaya Leo Lucia Malik Mara Milo "
    "Nadia Nils Olga Oscar Petra Quinn Rafael Rosa Samir Selma Tariq Thea Ursula Viktor Wanda Yara Yusuf Zora".split()
)
LAST = tuple(
    "Abbot Alder Barrow Belmont Calder Corvin Dahl Drayton Ekberg Farrow Fennel Garrick Grimaldo Halloran Harker "
    "Ibarra Jessop Karlow Kestrel Lindqvist Lorimer Mandel Marchetti Norwood Oakes Ostrow Pellegrin Penrose Quill "
    "Ravenna Rourke Sandoval Sorrel Tamsin Tolliver Ulrich Vance Voss Whitlock Yarrow".split()
)
ADJECTIVES = tuple(
    "Silent Broken Golden Distant Hidden Last Crimson Endless Hollow Paper Northern Restless Second Burning Forgotten "
    "Crooked".split()
)
# A thing, and what German, French, Spanish and Italian call it.
NOUNS = tuple(
    tuple(line.split())
    for line in """River Fluss Rivière Río Fiume
Lantern Laterne Lanterne Linterna Lanterna
Harbour Hafen Port Puerto Porto
Winter Winter Hiver Invierno Inverno
Mirror Spiegel Miroir Espejo Specchio
Garden Garten Jardin Jardín Giardino
Shadow Schatten Ombre Sombra Ombra
Bridge Brücke Pont Puente Ponte
Island Insel Île Isla Isola
Letter Brief Lettre Carta Lettera
Orchard Obstgarten Verger Huerto Frutteto
Train Zug Train Tren Treno
Clock Uhr Horloge Reloj Orologio
Storm Sturm Tempête Tormenta Tempesta
Violin Geige Violon Violín Violino
Desert Wüste Désert Desierto Deserto
Promise Versprechen Promesse Promesa Promessa
Lighthouse Leuchtturm Phare Faro Faro
Mountain Berg Montagne Montaña Montagna
Crown Krone Couronne Corona Corona
Secret Geheimnis Secret Secreto Segreto
Valley Tal Vallée Valle Valle
Horizon Horizont Horizon Horizonte Orizzonte
Song Lied Chanson Canción Canzone""".splitlines()
)
LANGUAGES = (("de", "German", "Deutsch", "DE"), ("fr", "French", "Français", "FR"), ("es", "Spanish", "Español", "ES"),
             ("it", "Italian", "Italiano", "IT"))  # code, in English, in itself, country
TOWNS = tuple(
    "Arlow Brackenfell Calverstone Dunmere Eastwick Fallowmoor Glenharrow Hollinport Inverbrae Kingsferry Larkhaven Marlstone "
    "Netherby Oldcastle Pinecrest Quarrywood Ravensholm Saltmarsh Thornbury Westmere".split()
)
COUNTRIES = (
    ("AR", "Argentina"), ("AU", "Australia"), ("BR", "Brazil"), ("CA", "Canada"), ("DK", "Denmark"), ("GB", "United Kingdom"),
    ("IN", "India"), ("JP", "Japan"), ("KR", "South Korea"), ("MX", "Mexico"), ("NO", "Norway"), ("PL", "Poland"),
    ("US", "United States of America"), ("ZA", "South Africa"),
)
COMPANIES = tuple(
    f"{name} {kind}"
    for name, kind in zip(
        "Amber Bluewater Copperline Driftwood Emberlight Foxglove Greyhound Highmoor Ironbark Juniper Kite Longshore".split(),
        "Pictures Films Studios Entertainment Productions Cinema Pictures Films Studios Media Productions Cinema".split(),
        strict=True,
    )
)
GENRES = tuple("Adventure Animation Comedy Crime Drama Family Fantasy History Mystery Romance Thriller War".split())
KEYWORDS = tuple(
    "amnesia archive betrayal blizzard chess circus detective diary exile expedition forgery heist inheritance orphan pilgrimage "
    "rebellion rivalry sabotage shipwreck smuggler treasure trial twins whistleblower".split()
)
TRADES = tuple(
    "baker cartographer clockmaker doctor ferryman gardener judge locksmith nurse painter pilot sailor teacher".split()
)
PLOTS = (
    "finds a map that nobody should have kept", "is asked to bury a secret", "must choose between two brothers",
    "returns home after twenty years", "wakes up in somebody else's life", "wins a house and inherits its quarrel",
    "takes in a stranger on the night of the flood", "follows a melody across the border",
)
STARTS = ("on a village stage", "in radio plays", "as a stage hand", "with short films made at school", "in a travelling theatre")
JOBS = ("Director", "Writer", "Producer", "Original Music Composer", "Director of Photography")
