"""English function words, which say little about what a text is about."""

_WORDS = """
a about after again against all also am an and any are aren't as at be because been before being
between both but by can can't cannot could couldn't did didn't do does doesn't doing don't done
during each either else ever every few for from get gets had hadn't has hasn't have haven't
having he he's her here hers herself him himself his how however i i'm if in into is isn't it
it's its itself just let's may me might more most much must my myself neither no nor not now of
off often on once only onto or other others our ours ourselves out over own per quite rather
same shall she she's should shouldn't since so some still such than that that's the their theirs
them themselves then there there's these they they're this those though through thus to too
under until up upon us very was wasn't we we're were weren't what what's when where whether
which while who who's whom whose why will with within without won't would wouldn't yet you
you're your yours yourself yourselves
"""

STOP_WORDS = frozenset(_WORDS.split())
