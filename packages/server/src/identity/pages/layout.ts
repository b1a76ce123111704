/** The HTML frames of the pages: one card, or a bar with a column of content. Nothing is loaded from other origins. */
import { type Brand, MARK_LINES } from './brand.ts'
import { type Html, html } from './html.ts'
import type { Language } from './messages/language.ts'

/** What every page needs besides its own data. */
export interface PageFrame {
  readonly brand: Brand
  readonly language: Language
  /** The path of the issuer, the prefix of every URL of this server; empty at the root. */
  readonly base: string
  readonly assets: PageAssets
  /** The places that this node serves. */
  readonly places: readonly Place[]
  /** Custom scopes: their texts, and the APIs that they belong to. Absent on pages that show none. */
  readonly scopes?: OwnScopeTexts | undefined
  /** The CSRF token of this browser, which every form sends back. */
  readonly formToken: string
}

export interface OwnScopeTexts {
  text(scope: string, language: string): string | undefined
  /** Undefined for a built-in scope. */
  findApi(scope: string): { readonly resource: string; readonly name: string } | undefined
}

export type Place = 'console' | 'account' | 'documentation'

export const PLACES: Readonly<Record<Place, string>> = {
  console: '/console',
  account: '/account',
  documentation: '/docs',
}

/** URLs of the files that pages load. */
export interface PageAssets {
  /** The typeface of the interface. */
  readonly font: string
  readonly stylesheet: string
  readonly documentationStylesheet: string
  readonly icon: string
  readonly logo: string | undefined
  /** For buttons that need a script: show a password, copy, print. */
  readonly controlsScript: string
  readonly passkeyScript: string
  readonly signedOutScript: string
  /** Sets the theme that was chosen in the console, before the first paint. */
  readonly themeScript: string
  readonly healthScript: string
  readonly pricesScript: string
  readonly recentScript: string
  readonly documentationScript: string
}

interface Head {
  readonly title: string
  /** URLs of scripts on our origin. */
  readonly scripts?: readonly string[]
  readonly head?: Html
}

export interface PageParts extends Head {
  readonly body: Html
  /** After the card: hidden iframes, the form_post script. */
  readonly after?: Html
}

/** A page with one card. */
export function page(frame: PageFrame, parts: PageParts): Html {
  return html`${head(frame, parts)}<body>
<main class="single">
<div class="card">
<div class="brand">${brandMark(frame)}</div>
${parts.body}
</div>
</main>
${parts.after}</body>
</html>
`
}

export interface SiteParts extends Head {
  readonly place?: Place
  /** At the right end of the bar. */
  readonly tools?: Html | undefined
  /** `main` and its siblings; `main` has the id `content`. */
  readonly body: Html
}

/** A page with a bar that links the places of the site. */
export function sitePage(frame: PageFrame, parts: SiteParts): Html {
  const { messages } = frame.language
  const theme = html`<script src="${frame.assets.themeScript}"></script>\n${parts.head}`
  return html`${head(frame, { ...parts, head: theme })}<body>
<a class="skip" href="#content">${messages.skipToContent}</a>
<header class="bar"><div class="bar-content">
<a class="brand" href="${frame.base}/">${brandMark(frame)}</a>
<nav class="places" aria-label="${messages.places}">${frame.places.map(placeLink)}</nav>
${parts.tools}</div></header>
${parts.body}
</body>
</html>
`

  function placeLink(place: Place): Html {
    return html`<a href="${frame.base}${PLACES[place]}"${place === parts.place && html` aria-current="true"`}>${messages.place[place]}</a>`
  }
}

function head({ brand, language, assets }: PageFrame, { title, scripts = [], head: more }: Head): Html {
  return html`<!DOCTYPE html>
<html lang="${language.tag}">
<head>
<meta charset="utf-8">
<title>${title === brand.name ? title : html`${title} · ${brand.name}`}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<link rel="icon" href="${assets.icon}">
<link rel="preload" href="${assets.font}" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="${assets.stylesheet}">
${more}${scripts.map((script) => html`<script src="${script}" defer></script>\n`)}</head>
`
}

function brandMark({ brand, assets }: PageFrame): Html {
  const logo =
    assets.logo === undefined
      ? html`<svg viewBox="0 0 36 36" aria-hidden="true" focusable="false"><rect class="mark" width="36" height="36" rx="9"/><path class="mark-line" d="${MARK_LINES}"/></svg>`
      : html`<img src="${assets.logo}" alt="" height="36">`
  return html`${logo}<span>${brand.name}</span>`
}
