/** What every page has: the head, the operator's mark, one main region with a card, nothing from elsewhere. */
import type { Brand } from './brand.ts'
import { type Html, html } from './html.ts'
import type { Language } from './messages/choose.ts'

/** What a page knows beside its own data. */
export interface Frame {
  readonly brand: Brand
  readonly language: Language
  /** Path of the issuer, put before every address of ours; empty at the root. */
  readonly base: string
  /** Address of the stylesheet. */
  readonly stylesheet: string
  /** The anti-forgery token of this browser, sent back by every form. */
  readonly formToken: string
}

export interface PageParts {
  readonly title: string
  readonly body: Html
  readonly wide?: boolean
  /** Address of a script on our origin. */
  readonly script?: string
  readonly head?: Html
  /** Beside the card: hidden frames, the form_post script. */
  readonly after?: Html
}

export function page(frame: Frame, { title, body, wide, script, head, after }: PageParts): Html {
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
${mark(brand)}
${body}
</div>
</main>
${after}</body>
</html>
`
}

function mark(brand: Brand): Html {
  const picture =
    brand.logo === undefined
      ? html`<svg viewBox="0 0 36 36" aria-hidden="true" focusable="false"><rect class="mark" width="36" height="36" rx="9"/><path class="mark-line" d="M9 28V17a9 9 0 0 1 18 0v11M15 28V15.5M21 28V15.5M9.5 20h17"/></svg>`
      : html`<img src="${brand.logo}" alt="" height="36">`
  return html`<div class="brand">${picture}<span>${brand.name}</span></div>`
}
