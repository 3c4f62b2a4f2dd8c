"""Words that carry grammar and no topic in 16 languages: articles, prepositions, pronouns, question words.

`train.py` puts into the token table those that it does not find common in the training rows, which have few languages.
Words that are also English words of substance are left out.
"""

from __future__ import annotations

FUNCTION_WORDS: dict[str, str] = {
    "ar": (
        "في من على إلى عن مع ما ماذا متى أين كيف كم هل هو هي التي الذي الذين كان كانت أن إن هذا هذه ذلك و أو "
        "لا لم قد أي"
    ),
    "de": (
        "der das dem des ein eine einen einem einer eines und oder im auf aus bei mit nach von vom zu zum zur "
        "für über um durch als wie wer wen wem welche welcher welches welchen wann wo warum wieviel ist sind "
        "waren wird wurde wurden werden haben hatte nicht auch sich es er sie"
    ),
    "el": (
        "ο η το οι τα του της των τον την τους τις ένα μια και ή σε στο στη στην στον στα στις από με για που "
        "ποιος ποια ποιο ποιοι ποιες ποιον πότε πού πως πώς πόσο πόσα πόσοι τι είναι ήταν να δεν θα έχει"
    ),
    "es": (
        "el la los las un una unos unas de del al en y que cual cuáles quien quienes cuando donde como cuánto "
        "cuántos cuántas por para sobre entre se su sus lo le les es son fue fueron eran ser está están han "
        "hay más este esta estos estas ese esa"
    ),
    "fr": (
        "le la les l un une des du de d à au aux en et ou que qui quoi quel quelle quels quelles quand où "
        "comment combien pourquoi par pour avec dans se sa ses ce cette ces est sont était étaient été ont il "
        "elle ils elles ne pas"
    ),
    "hi": (
        "का के की को में से ने पर और या है हैं था थे थी हो होता कि क्या कौन किस किसने कब कहाँ कहां कैसे कितने "
        "कितना कितनी जो यह वह एक लिए नहीं भी गया गई"
    ),
    "id": ("yang di ke dari untuk dengan pada adalah apa siapa kapan mana bagaimana berapa ini itu atau dalam oleh"),
    "it": (
        "il lo gli di del della dei delle da nel nella che chi quale quali dove quanto quanti si suo sua sono "
        "erano ha hanno non più alla"
    ),
    "nl": (
        "het een en van op aan met voor uit naar bij te dat wat wie welke wanneer waar hoe hoeveel zijn werd "
        "werden wordt heeft hebben niet ook"
    ),
    "pl": (
        "i w na z ze od po u dla przez co kto jaki jaka jakie który która które kiedy gdzie jak ile czy jest "
        "są był była było były się nie"
    ),
    "pt": (
        "os um uma da dos das em na nas qual quais quem quando onde quantos por para com seu sua seus suas "
        "são foi foram ao pelo pela não mais"
    ),
    "ro": (
        "al ai ale lui din pe cu și sau ce care cine când unde cum cât câți câte pentru prin este sunt era "
        "erau fost au fi se nu mai despre în"
    ),
    "ru": (
        "и в во на с со по из к у о об от до за для при не что кто какой какая какое какие каких каким когда "
        "где как сколько почему чем это этот эта был была было были есть его её их он она они который которая "
        "которые или а"
    ),
    "sv": "ett det och eller på av för med från om vad vem vilken vilket vilka när hur många är som inte",
    "tr": (
        "bir ve veya ile da mi mı ne hangi hangisi nerede nereden zaman nasıl kaç kadar için olarak olan bu şu gibi ise"
    ),
    "vi": (
        "và hoặc của là được cho với trong ở tại từ đến vào các những một có không gì ai nào khi đâu như thế "
        "bao nhiêu này đó mà để bị đã"
    ),
}
