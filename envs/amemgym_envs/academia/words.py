"""The words that papers and authors are made of. None of them is meant to exist."""

FIRST = tuple(
    "Aiko Amara Bastian Chidi Dorota Emil Fatima Gustav Hana Ilya Jasmin Kenji Leila Mateo Nora Omar Priya Renzo Sofia Tomas Uma "
    "Vera Wei Ximena Yannick Zofia".split()
)
LAST = tuple(
    "Adeyemi Bergmann Castillo Dubois Eriksen Ferrara Gupta Haruki Iversen Jankowski Kowal Laurent Moreau Nakata Okafor Petrov "
    "Rahimi Santoro Takeda Urbina Vasquez Winter Xu Yilmaz Zeller".split()
)
TASKS = tuple(
    "citation matching|entity linking|graph clustering|image retrieval|intent detection|knowledge tracing|"
    "link prediction|map routing|news ranking|query rewriting|schema alignment|speech tagging|table search|"
    "text summarisation|traffic forecasting|web crawling".split("|")
)
METHODS = tuple(
    "Attention Networks|Bandit Feedback|Bayesian Trees|Contrastive Views|Curriculum Sampling|Graph Kernels|Hashing|"
    "Hidden Walks|Label Propagation|Memory Cells|Mutual Information|Random Forests|Sparse Coding|Spectral Filters|"
    "Tensor Products|Weak Labels".split("|")
)
MANNERS = tuple("Adaptive Efficient Explainable Incremental Joint Lightweight Private Robust Scalable Unsupervised".split())
VENUES = (
    "Annual Meeting on Data and Graphs", "Conference on Language Systems", "International Symposium on Web Mining",
    "Journal of Learning Machines", "Transactions on Open Networks", "Workshop on Retrieval and Ranking",
)
ORGANIZATIONS = tuple(
    f"{kind} {place}"
    for kind in ("University of", "Institute of Technology", "Research Centre")
    for place in "Astervale Brookmere Cedarton Doverline Elmsford Fairhollow".split()
)
GAINS = ("halves the training time", "needs a tenth of the labels", "improves recall on three corpora", "keeps memory constant",
         "holds up under noise", "finds errors that earlier work missed")
