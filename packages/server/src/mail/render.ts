/** From a template and its values to a mail: subject, text and HTML, with every value made safe for its place. */
import { escapeHtml } from '../lib/escape-html.ts'
import { fillIn, mapParts, type Placeholder, type Template, type Values } from './template.ts'

export interface Rendered {
  readonly subject: string
  readonly text: string
  readonly html: string
}

export interface Style {
  readonly brand: string
  /** #rrggbb */
  readonly colour: string
}

export function render(template: Template, values: Values, language: string, style: Style): Rendered {
  return {
    subject: fillIn(template.subject, values, plain).slice(0, LONGEST_SUBJECT),
    text: `${fillIn(template.text, values, plainOrLink)}\n`,
    html:
      template.html === undefined
        ? htmlOfText(template, values, language, style)
        : fillIn(template.html, values, (value, name) => escapeHtml(plainOrLink(value, name))),
  }
}

const LONGEST_SUBJECT = 200
const LONGEST_VALUE = 200
const LONGEST_TEXT = 32_768
const CONTROLS = /[\p{Cc}\p{Cf}\u2028\u2029]+/gu

/** One line without control characters and marks of direction, so that no value looks like another part of the mail. */
function plain(value: string): string {
  return value.replace(CONTROLS, ' ').trim().slice(0, LONGEST_VALUE)
}

/** A link is our own, and must stay whole; a text has lines. */
function plainOrLink(value: string, name: Placeholder): string {
  if (name === 'link') return value
  return name === 'text' ? plainLines(value) : plain(value)
}

/** Each line as plain as a value. */
function plainLines(text: string): string {
  return text
    .slice(0, LONGEST_TEXT)
    .split('\n')
    .map((line) => line.replace(CONTROLS, ' ').trimEnd())
    .join('\n')
}

function htmlOfText(template: Template, values: Values, language: string, { brand, colour }: Style): string {
  const button = (link: string) =>
    `<a href="${link}" style="display:inline-block;padding:12px 20px;border-radius:8px;background:${colour};color:${textOn(colour)};text-decoration:none;font-weight:600;word-break:break-all">${link}</a>`
  const body = mapParts(
    template.text,
    (text) => escapeHtml(text),
    (name) => {
      const value = values[name] ?? ''
      return name === 'link' && value !== '' ? button(escapeHtml(value)) : escapeHtml(plainOrLink(value, name))
    },
  ).join('')
  const paragraphs = body
    .split(/\n{2,}/)
    .map((text) => `<p style="margin:0 0 16px">${text.replaceAll('\n', '<br>')}</p>`)
    .join('\n')
  return `<!DOCTYPE html>
<html lang="${escapeHtml(language)}"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>${escapeHtml(brand)}</title></head>
<body style="margin:0;padding:24px;font:16px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif">
<div style="max-width:560px;margin:0 auto">
<p style="margin:0 0 24px;font-weight:600">${escapeHtml(brand)}</p>
${paragraphs}
</div></body></html>
`
}

/** Black or white, whichever can be read better on the colour. */
function textOn(colour: string): string {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))
  return red * 0.299 + green * 0.587 + blue * 0.114 > 150 ? '#000000' : '#ffffff'
}
