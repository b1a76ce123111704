/** The `html` tag: a template literal that escapes every value. All pages are built with it. */

import { escapeHtml } from '../../lib/escape-html.ts'

/** Text that is already HTML, normally made by the `html` tag. */
export class Html {
  readonly #text: string
  constructor(text: string) {
    this.#text = text
  }
  toString(): string {
    return this.#text
  }
}

export type HtmlValue = Html | string | number | false | undefined | readonly HtmlValue[]

export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let text = strings[0] ?? ''
  for (const [index, value] of values.entries()) text += render(value) + (strings[index + 1] ?? '')
  return new Html(text)
}

/** A message around a value that is HTML itself, such as a link. */
export function fill(message: (value: string) => string, value: Html): Html {
  const [before = '', ...after] = message(PLACEHOLDER).split(PLACEHOLDER)
  return html`${before}${after.map((text) => html`${value}${text}`)}`
}

const PLACEHOLDER = '\u{f0000}'

function render(value: HtmlValue): string {
  if (value === undefined || value === false) return ''
  if (value instanceof Html) return value.toString()
  if (typeof value === 'object') return value.map(render).join('')
  return escapeHtml(String(value))
}
