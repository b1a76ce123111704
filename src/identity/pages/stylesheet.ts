/** The stylesheet of all pages, with a light and a dark theme in the operator's colour. */
import { createHash } from 'node:crypto'
import { designTokens } from './tokens.ts'

export interface Stylesheet {
  /** Contains a digest of the content, so that it can be cached indefinitely. */
  readonly name: string
  readonly text: string
}

export function createStylesheet(colour: string): Stylesheet {
  const text = `${designTokens(colour)}${RULES}`
  const digest = createHash('sha256').update(text).digest('base64url').slice(0, 12)
  return { name: `pages-${digest}.css`, text }
}

const RULES = `
*,::before,::after{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;min-height:100vh;min-height:100dvh;display:flex;flex-direction:column;color:var(--text);
background:radial-gradient(60rem 32rem at 50% -14rem,var(--glow),transparent) no-repeat var(--background);
font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;-webkit-font-smoothing:antialiased}
main{flex:1;display:flex;flex-direction:column;justify-content:center;align-items:center;width:100%;padding:2rem 1rem}
.card{width:100%;max-width:26rem;padding:2.25rem 2.25rem 2rem;background:var(--surface);border:1px solid var(--line);border-radius:1rem;box-shadow:var(--shadow)}
.wide{justify-content:flex-start}
.wide>.card{max-width:46rem}
.brand{display:flex;align-items:center;gap:.75rem;margin:0 0 1.75rem;font-weight:600;letter-spacing:-.01em;color:var(--text)}
.brand svg,.brand img{display:block;height:2.25rem;width:auto;max-width:11rem}
.mark{fill:var(--button)}
.mark-line{fill:none;stroke:var(--button-text);stroke-width:2.2;stroke-linecap:round;stroke-linejoin:round}
h1{margin:0 0 .375rem;font-size:1.5rem;line-height:1.25;font-weight:650;letter-spacing:-.018em;overflow-wrap:anywhere}
h2{margin:0 0 .25rem;font-size:1.0625rem;line-height:1.35;font-weight:650;letter-spacing:-.01em}
p{margin:0 0 1rem}
.lead{margin:0 0 1.5rem;color:var(--quiet)}
.lead strong{color:var(--text);font-weight:600}
.quiet{color:var(--quiet);font-size:.9375rem}
.break{overflow-wrap:anywhere}
a{color:var(--accent);text-underline-offset:.18em;text-decoration-thickness:.06em}
a:hover{text-decoration-thickness:.12em}
form{margin:0}
.field{margin:0 0 1.125rem}
label{display:block;margin:0 0 .375rem;font-size:.9375rem;font-weight:550}
.hint{margin:.375rem 0 0;color:var(--quiet);font-size:.875rem}
input:not([type=hidden]):not([type=checkbox]):not([type=radio]){display:block;width:100%;min-height:2.875rem;padding:.5rem .8125rem;color:var(--text);background:var(--surface);
border:1px solid var(--field);border-radius:.625rem;font:inherit}
input[aria-invalid=true]{border-color:var(--danger);box-shadow:inset 0 0 0 1px var(--danger)}
.code{font-variant-numeric:tabular-nums;font-size:1.25rem!important;letter-spacing:.14em}
button,.button{display:block;width:100%;min-height:2.875rem;padding:.625rem 1.125rem;border:1px solid transparent;border-radius:.625rem;font:inherit;font-weight:600;line-height:1.375;text-align:center;text-decoration:none;cursor:pointer;
color:var(--button-text);background:var(--button);transition:background-color .12s}
button:hover,.button:hover{background:var(--button-hover)}
.plain{color:var(--text);background:transparent;border-color:var(--field)}
.plain:hover{background:var(--inset)}
.danger{color:var(--danger);background:transparent;border-color:var(--line)}
.danger:hover{background:var(--danger-background);border-color:var(--danger)}
.text{width:auto;min-height:0;margin:0 auto;padding:.375rem .75rem;color:var(--quiet);background:transparent;font-weight:500}
.text:hover{color:var(--text);background:var(--inset)}
.secondary{margin:1.125rem 0 0;text-align:center}
.small{display:inline-block;width:auto;min-height:2.25rem;padding:.375rem .875rem;font-size:.9375rem}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
input:focus-visible{outline-offset:0;border-color:transparent}
.actions{display:grid;gap:.75rem;margin-top:1.5rem}
.or{display:flex;align-items:center;gap:.875rem;margin:1.25rem 0;color:var(--quiet);font-size:.875rem}
.or::before,.or::after{content:"";flex:1;border-top:1px solid var(--line)}
.summary,.notice{margin:0 0 1.5rem;padding:.8125rem 1rem;border-radius:.625rem;font-size:.9375rem}
.summary{color:var(--danger);background:var(--danger-background)}
.summary a{color:inherit}
.notice{color:var(--good);background:var(--good-background)}
.summary :last-child,.notice :last-child{margin-bottom:0}
.scopes{margin:0 0 1.5rem;padding:0;list-style:none;border:1px solid var(--line);border-radius:.75rem}
.scopes li{display:flex;gap:.75rem;padding:.75rem 1rem;font-size:.9375rem}
.scopes li+li{border-top:1px solid var(--line)}
.scopes svg{flex:none;width:1.25rem;height:1.25rem;margin-top:.125rem}
.tick{fill:none;stroke:var(--accent);stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.user{display:flex;align-items:center;gap:.75rem;margin:0 0 1.5rem;padding:.75rem 1rem;background:var(--inset);border-radius:.75rem;font-size:.9375rem}
h1+.user{margin-top:1.25rem}
.user span{overflow-wrap:anywhere}
.avatar{flex:none;display:grid;place-items:center;width:2.25rem;height:2.25rem;border-radius:50%;color:var(--button-text);background:var(--button);font-weight:600}
.usercode{margin:0 0 1.5rem;padding:1rem;background:var(--inset);border-radius:.75rem;text-align:center;font-size:1.75rem;font-weight:650;letter-spacing:.1em;font-variant-numeric:tabular-nums}
details{margin:0 0 1rem}
summary{cursor:pointer;color:var(--quiet);font-size:.9375rem}
code,kbd{font:.9375em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.section{padding:1.75rem 0;border-top:1px solid var(--line)}
h2+form{margin-top:1rem}
.section:last-child{padding-bottom:0}
.section>.quiet{margin-bottom:1.125rem}
.rows{margin:0 0 1.25rem;padding:0;list-style:none}
.rows li{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem 1rem;padding:.875rem 0;border-bottom:1px solid var(--line)}
.rows li:first-child{padding-top:.25rem}
.rows li:last-child{border-bottom:0;padding-bottom:0}
.rows div{flex:1 1 14rem;min-width:0;overflow-wrap:anywhere}
.rows p{margin:0}
.badge{display:inline-block;padding:.0625rem .5rem;margin-left:.25rem;border-radius:1rem;color:var(--good);background:var(--good-background);font-size:.8125rem;font-weight:600}
.pair{display:grid;grid-template-columns:1fr 1fr;gap:0 1rem}
.inline{display:flex;flex-wrap:wrap;gap:.625rem}
.qr{display:block;width:13rem;max-width:100%;margin:0 auto 1.25rem;background:#fff;border-radius:.75rem;border:1px solid var(--line)}
.codes{columns:2;margin:0 0 1.25rem;padding:1rem 1.25rem;list-style:none;background:var(--inset);border-radius:.75rem}
.codes li{padding:.1875rem 0}
.frames{position:absolute;width:0;height:0;border:0;visibility:hidden}
[hidden]{display:none!important}
.visually-hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
@media (max-width:32rem){main{justify-content:flex-start;padding:0}main,.card{flex:1}
.card,.wide>.card{max-width:none;padding:1.75rem 1.25rem;border:0;border-radius:0;box-shadow:none}
body{background:var(--surface)}.pair{grid-template-columns:1fr}}
@media (prefers-reduced-motion:reduce){*{transition:none!important}}
@media (forced-colors:active){button,.button,.card{border-color:CanvasText}}
`
