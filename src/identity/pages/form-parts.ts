/** The parts that forms are made of: fields with labels and errors, hidden values, the summary of what is wrong. */
import { type Html, html } from './html.ts'
import type { Frame } from './layout.ts'

export interface Field {
  /** Name and id: kept stable for people's scripts and password managers. */
  readonly name: string
  readonly label: string
  readonly type?: 'text' | 'password' | 'email'
  readonly value?: string
  readonly hint?: string
  readonly error?: string | undefined
  readonly autocomplete?: string
  readonly inputmode?: 'numeric' | 'text' | 'email'
  readonly required?: boolean
  readonly focus?: boolean
  readonly code?: boolean
  readonly maxlength?: number
  readonly plainText?: boolean
}

export function field(part: Field): Html {
  const described = [part.error !== undefined && `${part.name}-error`, part.hint !== undefined && `${part.name}-hint`]
    .filter((id) => id !== false)
    .join(' ')
  return html`<div class="field">
<label for="${part.name}">${part.label}</label>
<input id="${part.name}" name="${part.name}" type="${part.type ?? 'text'}"${attribute('value', part.value)}${attribute('autocomplete', part.autocomplete)}${attribute('inputmode', part.inputmode)}${attribute('maxlength', part.maxlength)}${part.plainText === true && html` autocapitalize="none" spellcheck="false"`}${part.code === true && html` class="code"`}${part.required === true && html` required`}${part.focus === true && html` autofocus`}${part.error !== undefined && html` aria-invalid="true"`}${described !== '' && attribute('aria-describedby', described)}>
${part.hint !== undefined && html`<p class="hint" id="${part.name}-hint">${part.hint}</p>`}${part.error !== undefined && html`<p class="apart" id="${part.name}-error">${part.error}</p>`}</div>`
}

export function attribute(
  name: 'value' | 'autocomplete' | 'inputmode' | 'maxlength' | 'aria-describedby' | 'aria-label',
  value: string | number | undefined,
): Html | undefined {
  if (value === undefined) return undefined
  // The name is one of ours, never data.
  return html` ${name}="${value}"`
}

export function hidden(values: Readonly<Record<string, string | undefined>>): Html {
  return html`${Object.entries(values).map(([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`)}`
}

export interface Mistake {
  readonly text: string
  /** The id of the field that it is about. */
  readonly field?: string
}

/** First in the card and announced at once, so that nobody has to look for what went wrong. */
export function errorSummary(frame: Frame, mistake: Mistake | undefined): Html | undefined {
  if (mistake === undefined) return undefined
  const text =
    mistake.field === undefined ? html`${mistake.text}` : html`<a href="#${mistake.field}">${mistake.text}</a>`
  return html`<div class="summary" id="error-summary" role="alert"><span class="apart">${frame.language.messages.errorTitle}: </span>${text}</div>`
}

export function notice(text: string | undefined): Html | undefined {
  return text === undefined ? undefined : html`<div class="notice" role="status">${text}</div>`
}

/** A form that posts to one of our own addresses. */
export function ownForm(
  frame: Frame,
  name: string,
  path: string,
  values: Readonly<Record<string, string | undefined>>,
  body: Html,
): Html {
  return html`<form id="${name}" name="${name}" method="post" action="${frame.base}${path}">
${hidden({ form_token: frame.formToken, ...values })}
${body}
</form>`
}

export function who(text: string, name: string): Html {
  return html`<p class="who"><span class="avatar" aria-hidden="true">${initial(name)}</span><span>${text}</span></p>`
}

function initial(name: string): string {
  return (name.match(/\p{L}|\p{N}/u)?.[0] ?? '•').toUpperCase()
}

export function scopeList(frame: Frame, scopes: readonly string[]): Html {
  const { messages } = frame.language
  return html`<ul class="scopes" id="scopes">${scopes.map(
    (scope) =>
      html`<li><svg viewBox="0 0 20 20" aria-hidden="true" focusable="false"><path class="tick" d="M4.5 10.5l3.5 3.5 7.5-8"/></svg><span>${(Object.hasOwn(messages.scope, scope) ? messages.scope[scope] : undefined) ?? messages.scopeOther(scope)}</span></li>`,
  )}</ul>`
}
