/** Light or dark as the reader's system is; the policy of the page allows this text and no other style. */
export const STYLE = `
:root { color-scheme: light dark; --ink: light-dark(#1c2733, #dde5ec); --quiet: light-dark(#5b6875, #95a3b0);
  --paper: light-dark(#fff, #11171d); --panel: light-dark(#f3f6f8, #1a222a); --line: light-dark(#d9e0e6, #2c3843);
  --accent: light-dark(#0b6285, #63bfe3); --get: light-dark(#176639, #62c98b); --post: light-dark(#0b5a9c, #6cb4f0);
  --delete: light-dark(#a32525, #f08a8a); }
* { box-sizing: border-box }
html { scroll-padding-top: 1rem }
body { margin: 0; color: var(--ink); background: var(--paper); font: 16px/1.55 system-ui, sans-serif }
.frame { display: grid; grid-template-columns: 19rem minmax(0, 52rem); gap: 3rem; max-width: 78rem; margin: 0 auto;
  padding: 0 1.5rem }
nav { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow: auto; padding: 2rem 0; font-size: .9rem }
nav h2 { margin: 1.4rem 0 .3rem; font-size: .75rem; letter-spacing: .08em; text-transform: uppercase; color: var(--quiet);
  border: 0; padding: 0 }
nav ul { list-style: none; margin: 0; padding: 0 }
nav li { padding: .15rem 0 }
main { padding: 2rem 0 6rem }
h1 { margin: 0; font-size: 2.2rem; line-height: 1.2 }
h2 { margin: 3.5rem 0 .5rem; padding-bottom: .3rem; font-size: 1.5rem; border-bottom: 1px solid var(--line) }
h3 { margin: 0 0 .4rem; font-size: 1.15rem }
h4 { margin: 1.2rem 0 .3rem; font-size: .8rem; letter-spacing: .06em; text-transform: uppercase; color: var(--quiet) }
p { margin: .5rem 0; max-width: 44rem }
a { color: var(--accent); text-decoration: none }
a:hover { text-decoration: underline }
code, pre { font: .875em/1.5 ui-monospace, monospace; overflow-wrap: anywhere }
:not(pre) > code { padding: .1em .3em; background: var(--panel); border-radius: 4px }
pre { margin: .4rem 0; padding: .8rem 1rem; overflow: auto; max-height: 30rem; background: var(--panel);
  border: 1px solid var(--line); border-radius: 6px; overflow-wrap: normal }
article { padding: 1.6rem 0; border-bottom: 1px solid var(--line) }
article:target h3 { color: var(--accent) }
.path { font: 600 .95rem/1.5 ui-monospace, monospace; overflow-wrap: anywhere }
.method { margin-right: .4em; font-weight: 700 }
.get { color: var(--get) } .post { color: var(--post) } .delete { color: var(--delete) }
.note { margin-left: .6em; padding: .1em .5em; font: .75rem/1.4 system-ui, sans-serif; color: var(--quiet);
  border: 1px solid var(--line); border-radius: 1em; white-space: nowrap }
.scroll { overflow-x: auto }
table { width: 100%; border-collapse: collapse; font-size: .9rem }
th, td { padding: .4rem .8rem .4rem 0; text-align: left; vertical-align: top; border-top: 1px solid var(--line) }
tr:first-child > * { border-top: 0 }
th { font-weight: 400; white-space: nowrap; width: 1% }
td p { margin: 0 }
.quiet { color: var(--quiet) }
summary { cursor: pointer; color: var(--accent); padding: .3rem 0 }
@media (max-width: 60rem) { .frame { display: block } nav { position: static; max-height: none; padding-bottom: 0 } nav ul { columns: 2 } }
@media (max-width: 40rem) { th { white-space: normal; width: 35% } h1 { font-size: 1.8rem } }
`
