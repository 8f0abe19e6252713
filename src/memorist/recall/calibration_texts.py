"""Text that is about nothing in particular: what meaning and words are calibrated against. Pure.

A cosine says little by itself: some texts are near to everything. What counts is how far it lies
above the cosines of the same query to memories of other projects, and of the same memory to
messages of other projects (symmetric score normalisation, as in speaker verification).
"""

from __future__ import annotations

COHORT_MESSAGES = (
    "add a button that exports the table as a spreadsheet",
    "the page flickers when I scroll on a phone",
    "can you explain what this class is for",
    "go on with the next step",
    "commit this and open a pull request",
    "why is the build red again",
    "rename the variable, it is misleading",
    "write a test for the empty case",
    "I get a stack trace when I start the server, please have a look",
    "how long would it take to support a second currency",
    "translate the labels into Spanish",
    "please review my changes before I send them",
    "which version of Python do we need",
    "the login form should remember the last user name",
    "make the chart wider and use softer colours",
    "bump the version and publish it",
    "find all places where this function is called",
    "there is a race between the two workers, can you see it",
    "plan a weekend in Lisbon with two children",
    "what is a good recipe for lentil soup",
    "look at the failing job and tell me what happened",
    "we need pagination in the list of orders",
    "undo the last change, I do not like it",
    "sort the results by date, newest first",
    "does this also work on Windows",
    "update the documentation of the command line options",
    "measure how much memory the import takes and reduce it",
    "what did the customer say in the last ticket",
    "put the settings into a file instead of the environment",
    "is it safe to delete this folder",
    "the date is off by one in the report for March",
    "compare these two libraries and recommend one",
    "thanks, that looks good, what else is open",
    "split this long file into smaller modules",
    "ok do it",
    "the query takes four seconds, can we add an index",
    "write a short announcement for the release",
    "how do I run only one of the examples",
    "draw a diagram of how the parts talk to each other",
    "retry the upload when the network fails",
)
"""Things that people ask of an agent, of many kinds."""

COHORT_MEMORIES = (
    "Invoices are rounded per line and not per total.",
    "The staging server is rebuilt every night, so nothing there lasts.",
    "Answer in short sentences and leave out the greeting.",
    "Pictures are stored in a bucket and only their keys in the table.",
    "The search page waits 300 ms after the last key before it asks.",
    "Release notes are written by hand, one line for each change.",
    "Mails to customers go out through the queue and never from a request.",
    "All times are kept in UTC and shown in the zone of the reader.",
    "The parser is generated; edit the grammar and never the output.",
    "Branches are named after the ticket they belong to.",
    "The mobile client ships every second Tuesday.",
    "Feature switches are removed two releases after they are on for all.",
    "A migration may add columns and never drop them in the same release.",
    "The user is new to Rust and wants the borrow checker explained.",
    "Log lines are JSON and carry the id of the request.",
    "Colours come from the theme file and are not written into components.",
    "The old dashboard is frozen; new panels go into the new one.",
    "Use the fake clock in tests of timers.",
    "Prices are integers in cents.",
    "The vendor's interface answers 429 above ten calls a second.",
    "Docker images are built from the slim base.",
    "The nightly import failed because the disk was full.",
    "Public functions have a docstring with an example.",
    "Secrets come from the vault and are never in the repository.",
    "The user works in the evening and answers the next day.",
    "Keep the public names stable until version two.",
    "Reports are made by the worker in the second region.",
    "The cache is cleared by changing the prefix of the keys.",
    "Reviews are done in pairs on Thursdays.",
    "The chapter on storage is out of date.",
    "The heading of every page is one line.",
    "The legacy endpoint stays until the last client has moved.",
    "Benchmarks run on the idle machine and are repeated five times.",
    "Commas in numbers are read by locale.",
    "Lint warnings count as errors.",
    "The map uses tiles of our own server.",
    "Errors that a person sees say what to do next.",
    "Backups are tested on the first of the month.",
    "The form saves a draft every thirty seconds.",
    "The character in chapter three is called Anna.",
)
"""Things that are kept about projects, of many kinds."""

COHORT_LANGUAGES = (
    (
        "bitte lies die Datei und sag mir, was sie macht",
        "warum ist die Seite auf dem Handy so langsam",
        "Die Suche wartet 300 ms nach der letzten Taste.",
        "Der Benutzer arbeitet abends und antwortet am nächsten Tag.",
    ),
    (
        "lis ce fichier et dis-moi ce qu'il fait",
        "pourquoi la page est-elle si lente sur le téléphone",
        "La recherche attend 300 ms après la dernière touche.",
        "L'utilisateur travaille le soir et répond le lendemain.",
    ),
    (
        "lee este archivo y dime qué hace",
        "por qué la página va tan lenta en el móvil",
        "La búsqueda espera 300 ms después de la última tecla.",
        "El usuario trabaja por la tarde y contesta al día siguiente.",
    ),
    (
        "leia este arquivo e diga o que ele faz",
        "por que a página está tão lenta no celular",
        "A busca espera 300 ms depois da última tecla.",
        "O usuário trabalha à noite e responde no dia seguinte.",
    ),
    (
        "leggi questo file e dimmi che cosa fa",
        "perché la pagina è così lenta sul telefono",
        "La ricerca attende 300 ms dopo l'ultimo tasto.",
        "L'utente lavora la sera e risponde il giorno dopo.",
    ),
    (
        "прочитай файл и скажи, что он делает",
        "почему страница так медленно открывается на телефоне",
        "Поиск ждёт 300 мс после последней клавиши.",
        "Пользователь работает вечером и отвечает на следующий день.",
    ),
    (
        "读一下这个文件，告诉我它做什么",
        "为什么手机上页面这么慢",
        "搜索在最后一次按键后等待 300 毫秒。",
        "用户晚上工作，第二天回复。",
    ),
    (
        "このファイルを読んで何をするか教えて",
        "スマホでページが遅いのはなぜですか",
        "検索は最後のキーから300ミリ秒待つ。",
        "利用者は夜に働き、翌日に返事をする。",
    ),
)
"""Such texts in eight other languages, one row for each. To a model that reads English alone all
texts of another language are near to each other, whatever they say.
"""
