/** Building blocks of forms: labelled fields with errors, hidden values, the error summary, the list of scopes. */
import { type Html, html } from './html.ts'
import type { PageFrame } from './layout.ts'

export interface Field {
  /** Both name and id. Stable, for scripts and password managers. */
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
${part.hint !== undefined && html`<p class="hint" id="${part.name}-hint">${part.hint}</p>`}${part.error !== undefined && html`<p class="visually-hidden" id="${part.name}-error">${part.error}</p>`}</div>`
}

export function attribute(
  name: 'value' | 'autocomplete' | 'inputmode' | 'maxlength' | 'aria-describedby' | 'aria-label',
  value: string | number | undefined,
): Html | undefined {
  if (value === undefined) return undefined
  return html` ${name}="${value}"`
}

export function hidden(values: Readonly<Record<string, string | undefined>>): Html {
  return html`${Object.entries(values).map(([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`)}`
}

export interface FormError {
  readonly text: string
  /** The id of the field with the error. */
  readonly field?: string
}

/** First in the card, and announced by screen readers at once. */
export function errorSummary(frame: PageFrame, formError: FormError | undefined): Html | undefined {
  if (formError === undefined) return undefined
  const text =
    formError.field === undefined ? html`${formError.text}` : html`<a href="#${formError.field}">${formError.text}</a>`
  return html`<div class="summary" id="error-summary" role="alert"><span class="visually-hidden">${frame.language.messages.errorTitle}: </span>${text}</div>`
}

export function notice(text: string | undefined): Html | undefined {
  return text === undefined ? undefined : html`<div class="notice" role="status">${text}</div>`
}

/** A form that posts to one of our own URLs, with the CSRF token. */
export function postForm(
  frame: PageFrame,
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

export function signedInUser(text: string, name: string): Html {
  return html`<p class="user"><span class="avatar" aria-hidden="true">${initial(name)}</span><span>${text}</span></p>`
}

function initial(name: string): string {
  return (name.match(/\p{L}|\p{N}/u)?.[0] ?? '•').toUpperCase()
}

export function scopeList(frame: PageFrame, scopes: readonly string[]): Html {
  return html`<ul class="scopes" id="scopes">${scopes.map(
    (scope) =>
      html`<li><svg viewBox="0 0 20 20" aria-hidden="true" focusable="false"><path class="tick" d="M4.5 10.5l3.5 3.5 7.5-8"/></svg><span>${scopeText(frame, scope)}</span></li>`,
  )}</ul>`
}

export function scopeText(frame: PageFrame, scope: string): string {
  const { messages } = frame.language
  return (Object.hasOwn(messages.scope, scope) ? messages.scope[scope] : undefined) ?? messages.scopeOther(scope)
}
