/** Templates of mails: a subject and a text with fixed placeholders, such as {{link}}. */
import { MAIL_KINDS, type MailKind } from '../store/mail/kinds.ts'

/** What a template may contain, by kind of mail. Values of the profile are not sent to unconfirmed addresses. */
export type Placeholder =
  | 'brand'
  | 'contact'
  | 'username'
  | 'name'
  | 'link'
  | 'expires'
  | 'time'
  | 'origin'
  | 'subject'
  | 'text'

export type Values = Readonly<Partial<Record<Placeholder, string>>>

/** Text, or a placeholder. */
type Part = { readonly text: string } | { readonly placeholder: Placeholder }

export interface Template {
  readonly subject: readonly Part[]
  readonly text: readonly Part[]
  /** Undefined where it is made from the text. */
  readonly html: readonly Part[] | undefined
}

export class BadTemplate extends Error {
  override name = 'BadTemplate'
}

const COMMON = ['brand', 'contact', 'username'] as const
const WITH_LINK = [...COMMON, 'link', 'expires'] as const
const NOTICE = [...COMMON, 'name', 'time', 'origin'] as const

export function allowedPlaceholders(kind: MailKind): readonly Placeholder[] {
  switch (kind) {
    case 'verification':
      return WITH_LINK
    case 'invitation':
    case 'reset':
    case 'forgot-password':
      return [...WITH_LINK, 'name']
    case 'factor-added':
    case 'factor-removed':
    case 'identity-linked':
    case 'identity-unlinked':
    case 'break-glass':
      return [...NOTICE, 'subject']
    case 'licence-ending':
      return [...COMMON, 'name', 'subject', 'expires']
    case 'alert':
      return [...COMMON, 'name', 'subject', 'text', 'link']
    case 'new-browser':
    case 'password-changed':
    case 'address-changed':
      return NOTICE
  }
}

/** From the text of a file: `Subject: …`, an empty line, the text. Throws BadTemplate. */
export function readTemplate(kind: MailKind, text: string, html?: string): Template {
  const [, subject = '', body = ''] = /^Subject: ([^\r\n]+)\r?\n\r?\n(.+)$/s.exec(text) ?? []
  if (subject === '') throw new BadTemplate('the first line must be "Subject: …", the second empty')
  const template = {
    subject: splitParts(kind, subject),
    text: splitParts(kind, body.replaceAll('\r\n', '\n').trimEnd()),
    html: html === undefined ? undefined : splitParts(kind, html),
  }
  if (MAIL_KINDS[kind].link && !(hasLink(template.text) && (template.html === undefined || hasLink(template.html))))
    throw new BadTemplate('it must contain {{link}}')
  if (hasLink(template.subject)) throw new BadTemplate('the subject must not contain {{link}}')
  return template
}

function hasLink(parts: readonly Part[]): boolean {
  return parts.some((part) => 'placeholder' in part && part.placeholder === 'link')
}

function splitParts(kind: MailKind, text: string): Part[] {
  const known = allowedPlaceholders(kind)
  return text.split(/(\{\{.*?\}\})/s).map((part): Part => {
    if (!part.startsWith('{{')) {
      if (/\{\{|\}\}/.test(part)) throw new BadTemplate('a placeholder is written like {{name}}')
      return { text: part }
    }
    const placeholder = known.find((name) => part === `{{${name}}}`)
    if (placeholder !== undefined) return { placeholder }
    throw new BadTemplate(
      `it contains ${part.slice(0, 60)}; known are ${known.map((name) => `{{${name}}}`).join(', ')}`,
    )
  })
}

/** The parts with their values, each of which `write` makes safe. */
export function fillIn(
  parts: readonly Part[],
  values: Values,
  write: (value: string, name: Placeholder) => string,
): string {
  return parts
    .map((part) => ('text' in part ? part.text : write(values[part.placeholder] ?? '', part.placeholder)))
    .join('')
}

/** Converts the parts of a template; `ofText` converts the fixed text, too. */
export function mapParts<Result>(
  parts: readonly Part[],
  ofText: (text: string) => Result,
  ofPlaceholder: (name: Placeholder) => Result,
): Result[] {
  return parts.map((part) => ('text' in part ? ofText(part.text) : ofPlaceholder(part.placeholder)))
}
