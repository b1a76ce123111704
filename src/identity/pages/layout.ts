/** The HTML frame of every page: head, brand and one card. Nothing is loaded from other origins. */
import type { Brand } from './brand.ts'
import { type Html, html } from './html.ts'
import type { Language } from './messages/language.ts'

/** What every page needs besides its own data. */
export interface PageFrame {
  readonly brand: Brand
  readonly language: Language
  /** The path of the issuer, which prefixes every URL of ours; empty at the root. */
  readonly base: string
  /** URL of the stylesheet. */
  readonly stylesheet: string
  /** The CSRF token of this browser, which every form sends back. */
  readonly formToken: string
}

export interface PageParts {
  readonly title: string
  readonly body: Html
  readonly wide?: boolean
  /** URL of a script on our origin. */
  readonly script?: string
  readonly head?: Html
  /** After the card: hidden iframes, the form_post script. */
  readonly after?: Html
}

export function page(frame: PageFrame, { title, body, wide, script, head, after }: PageParts): Html {
  const { brand, language, stylesheet } = frame
  return html`<!DOCTYPE html>
<html lang="${language.tag}">
<head>
<meta charset="utf-8">
<title>${title} · ${brand.name}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${stylesheet}">
${head}${script !== undefined && html`<script src="${script}" defer></script>`}
</head>
<body>
<main${wide === true && html` class="wide"`}>
<div class="card">
${brandMark(brand)}
${body}
</div>
</main>
${after}</body>
</html>
`
}

function brandMark(brand: Brand): Html {
  const logo =
    brand.logo === undefined
      ? html`<svg viewBox="0 0 36 36" aria-hidden="true" focusable="false"><rect class="mark" width="36" height="36" rx="9"/><path class="mark-line" d="M9 28V17a9 9 0 0 1 18 0v11M15 28V15.5M21 28V15.5M9.5 20h17"/></svg>`
      : html`<img src="${brand.logo}" alt="" height="36">`
  return html`<div class="brand">${logo}<span>${brand.name}</span></div>`
}
