/** The HTML page of the console: what it loads, and what the server tells it. */
import type { Manifest } from './files.ts'

export interface WireAddress {
  readonly host: string
  readonly port: number
  readonly tls: boolean
  /** Whether users may sign in with their passwords. */
  readonly passwords: boolean
}

export interface PageData {
  /** Path of the issuer, empty at the root. */
  readonly base: string
  readonly issuer: string
  readonly version: string
  /** The services of this node. */
  readonly services: readonly string[]
  readonly demo: boolean
  /** Whether mail is set up. */
  readonly mail: boolean
  /** Whether agents can connect. */
  readonly agents: boolean
  /** How tools connect by PostgreSQL's protocol; undefined where they cannot. */
  readonly wire: WireAddress | undefined
  readonly name: string
  /** URL of the operator's logo; undefined for ours. */
  readonly logo: string | undefined
  /** URL of the design tokens in the operator's colour. */
  readonly tokens: string
  /** URL of the typeface of the interface. */
  readonly font: string
  /** For the first DPoP proof of the page (RFC 9449 §8), so that it need not ask for one. */
  readonly nonce: string | undefined
  /** Of the texts; one of `languages`. */
  readonly language: string
  readonly languages: readonly string[]
}

/** The script reads the element `gatehouse`: the policy forbids inline scripts. */
export function consolePage(data: PageData, manifest: Manifest): string {
  const {
    base,
    issuer,
    version,
    services,
    demo,
    mail,
    agents,
    wire,
    name,
    logo,
    tokens,
    font,
    nonce,
    language,
    languages,
  } = data
  const url = (file: string) => `${base}/console/assets/${file}`
  const areaStyles = Object.fromEntries(Object.entries(manifest.areaStyles).map(([area, file]) => [area, url(file)]))
  const about = {
    base,
    issuer,
    version,
    services,
    demo,
    mail,
    agents,
    wire,
    name,
    logo,
    areaStyles,
    nonce,
    language,
    languages,
  }
  const tags = [
    `<link rel="preload" href="${escapeHtml(font)}" as="font" type="font/woff2" crossorigin>`,
    ...[tokens, ...manifest.styles.map(url)].map((href) => `<link rel="stylesheet" href="${escapeHtml(href)}">`),
    `<script src="${escapeHtml(url(manifest.theme))}"></script>`,
    ...manifest.preload.map((file) => `<link rel="modulepreload" href="${escapeHtml(url(file))}">`),
    `<script type="module" src="${escapeHtml(url(manifest.script))}"></script>`,
  ]
  return `${head(name, language)}
<meta name="gatehouse" content="${escapeHtml(JSON.stringify(about))}">
${tags.join('\n')}
</head>
<body>
<div id="console"></div>
<noscript><p>${textsIn(language).withoutScript.replace('<a>', `<a href="${escapeHtml(base)}/account">`)}</p></noscript>
</body>
</html>
`
}

/** What the page says before its script runs; another language begins in English. */
const ENGLISH = {
  title: 'Console',
  withoutScript: 'The console needs JavaScript; your <a>account page</a> works without.',
}
const TEXTS: ReadonlyMap<string, typeof ENGLISH> = new Map([
  [
    'de',
    {
      title: 'Konsole',
      withoutScript: 'Die Konsole braucht JavaScript; die <a>Kontoseite</a> kommt ohne aus.',
    },
  ],
])

function textsIn(language: string): typeof ENGLISH {
  return TEXTS.get(language) ?? ENGLISH
}

/** Where the console was not built. */
export function notBuiltPage(name: string): string {
  return `${head(name, 'en')}
</head>
<body>
<h1>The console has not been built</h1>
<p>Run <code>npm run setup</code> in the folder of Gatehouse, then load this page again.</p>
</body>
</html>
`
}

function head(name: string, language: string): string {
  return `<!DOCTYPE html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<title>${textsIn(language).title} · ${escapeHtml(name)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">`
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
