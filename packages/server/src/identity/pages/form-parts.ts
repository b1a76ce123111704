/** Building blocks of forms: labelled fields with errors, hidden values, messages, the list of scopes. */
import { type Html, html } from './html.ts'
import { type IconName, icon } from './icons.ts'
import type { PageFrame } from './layout.ts'

export interface Field {
  /** Both name and id. Stable, for scripts and password managers. */
  readonly name: string
  readonly label: string
  readonly type?: 'text' | 'email' | 'url'
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
  return labelled(part, input(part, part.type ?? 'text'))
}

/** With a button that shows the password; it needs the controls script and is hidden without it. */
export function passwordField(frame: PageFrame, part: Omit<Field, 'type' | 'code' | 'plainText' | 'inputmode'>): Html {
  const { messages } = frame.language
  return labelled(
    part,
    html`<div class="with-button">${input(part, 'password')}
<button type="button" class="icon-button" data-shows="${part.name}" aria-pressed="false" aria-label="${messages.showPassword}" title="${messages.showPassword}" hidden>${icon('eye', 'when-not-pressed')}${icon('eyeOff', 'when-pressed')}</button></div>`,
  )
}

export interface Choice {
  readonly value: string
  readonly text: string
  /** The language of the text, if it is not that of the page. */
  readonly lang?: string
}

export interface ChoiceGroup {
  readonly label: string
  readonly choices: readonly Choice[]
}

export interface SelectField extends Pick<Field, 'name' | 'label' | 'value' | 'hint' | 'error' | 'autocomplete'> {
  readonly choices: readonly (Choice | ChoiceGroup)[]
}

export function selectField(part: SelectField): Html {
  const option = ({ value, text, lang }: Choice): Html =>
    html`<option value="${value}"${attribute('lang', lang)}${value === part.value && html` selected`}>${text}</option>`
  const options = part.choices.map((choice) =>
    'choices' in choice
      ? html`<optgroup label="${choice.label}">${choice.choices.map(option)}</optgroup>`
      : option(choice),
  )
  return labelled(
    part,
    html`<div class="select"><select id="${part.name}" name="${part.name}"${attribute('autocomplete', part.autocomplete)}${described(part)}>${options}</select>${icon('chevron')}</div>`,
  )
}

function labelled(part: Pick<Field, 'name' | 'label' | 'hint' | 'error'>, control: Html): Html {
  return html`<div class="field">
<label for="${part.name}">${part.label}</label>
${control}
${part.error !== undefined && html`<p class="field-error" id="${part.name}-error">${part.error}</p>`}${part.hint !== undefined && html`<p class="hint" id="${part.name}-hint">${part.hint}</p>`}</div>`
}

function input(part: Field, type: string): Html {
  return html`<input id="${part.name}" name="${part.name}" type="${type}"${attribute('value', part.value)}${attribute('autocomplete', part.autocomplete)}${attribute('inputmode', part.inputmode)}${attribute('maxlength', part.maxlength)}${part.plainText === true && html` autocapitalize="none" spellcheck="false"`}${part.code === true && html` class="code"`}${part.required === true && html` required`}${part.focus === true && html` autofocus`}${described(part)}>`
}

function described({ name, hint, error }: Pick<Field, 'name' | 'hint' | 'error'>): Html {
  const ids = [error !== undefined && `${name}-error`, hint !== undefined && `${name}-hint`]
  const named = ids.filter((id) => id !== false).join(' ')
  return html`${error !== undefined && html` aria-invalid="true"`}${named !== '' && attribute('aria-describedby', named)}`
}

export function attribute(
  name: 'value' | 'autocomplete' | 'inputmode' | 'maxlength' | 'aria-describedby' | 'aria-label' | 'lang',
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
  return html`<div class="summary" id="error-summary" role="alert">${icon('alert')}<div><span class="visually-hidden">${frame.language.messages.errorTitle}: </span>${text}</div></div>`
}

export function notice(text: string | undefined): Html | undefined {
  return text === undefined
    ? undefined
    : html`<div class="notice" role="status">${icon('check')}<div>${text}</div></div>`
}

/** Whom to ask for help. */
export function contact({ brand, language }: PageFrame): Html {
  const { messages } = language
  const { supportContact: given } = brand
  if (given === '') return html`${messages.yourAdministrator}`
  if (/^https?:\/\/\S+$/i.test(given)) return html`<a href="${given}">${given.replace(/^https?:\/\/|\/$/gi, '')}</a>`
  if (/^[^\s@:/?]+@[^\s@:/?]+$/.test(given)) return html`<a href="mailto:${given}">${given}</a>`
  return html`${given}`
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
  return html`<p class="user">${avatar(name)}<span>${text}</span></p>`
}

export function avatar(name: string): Html {
  return html`<span class="avatar" aria-hidden="true">${initials(name)}</span>`
}

/** The initials of the first and the last word, as in the console. */
function initials(name: string): string {
  const words = name.match(/[\p{L}\p{N}]+/gu) ?? ['•']
  const letters = [words[0], words.length > 1 ? words.at(-1) : ''].map((word) => [...(word ?? '')][0] ?? '')
  return letters.join('').toUpperCase()
}

/** What is built in first, then a list for each API, with its name. Rights of the platform need a heading only if it was named. */
function scopeList(frame: PageFrame, scopes: readonly string[]): Html {
  const findApi = (scope: string) => {
    const api = frame.scopes?.findApi(scope)
    return api?.resource === 'platform' && api.name === api.resource ? undefined : api
  }
  const builtIn = scopes.filter((scope) => findApi(scope) === undefined)
  const byApi = Map.groupBy(
    scopes.filter((scope) => !builtIn.includes(scope)),
    (scope) => findApi(scope)?.name ?? '',
  )
  const entries = (some: readonly string[]) => inOrder(frame, some).map((scope) => scopeEntry(frame, scope))
  return html`${builtIn.length > 0 && html`<ul class="scopes" id="scopes">${entries(builtIn)}</ul>`}${[...byApi].map(
    ([name, some]) => html`<h2 class="api">${frame.language.messages.consentApi(name)}</h2>
<ul class="scopes">${entries(some)}</ul>`,
  )}`
}

/** Who is asked, what an application will be able to do, and the buttons to allow or deny it. */
export function permissionForm(
  frame: PageFrame,
  { username, scopes }: { readonly username: string; readonly scopes: readonly string[] },
  form: { readonly name: string; readonly path: string; readonly ids: string; readonly values: Record<string, string> },
): Html {
  const { messages } = frame.language
  const buttons = html`<div class="actions">
<button type="submit" id="${form.ids}-allow" name="decision" value="allow">${messages.allow}</button>
<button type="submit" class="plain" id="${form.ids}-deny" name="decision" value="deny">${messages.deny}</button>
</div>`
  return html`${signedInUser(messages.signedInAs(username), username)}
<p>${messages.consentLead}</p>
${scopeList(frame, scopes)}
${postForm(frame, form.name, form.path, { ...form.values, scope: scopes.join(' ') }, buttons)}`
}

/** What an application will no longer be able to do. */
export function lostScopeList(frame: PageFrame, scopes: readonly string[]): Html {
  const entries = inOrder(frame, scopes).map((scope) => scopeEntry(frame, scope, { drawing: 'cross' }))
  return html`<ul class="scopes lost" id="scopes">${entries}</ul>`
}

/** What an application can do, in a list of applications. */
export function permissionList(frame: PageFrame, scopes: readonly string[]): Html {
  return html`<ul class="permissions">${inOrder(frame, scopes).map((scope) => scopeEntry(frame, scope))}</ul>`
}

/** What the person may do. */
export function rightList(frame: PageFrame, rights: readonly string[]): Html {
  const texts = frame.language.messages.right
  const entries = inOrder(frame, rights).map((right) => scopeEntry(frame, right, { texts }))
  return html`<ul class="permissions" id="rights">${entries}</ul>`
}

/** As in the catalogue of messages: who the person is first, rights on the platform last. */
function inOrder({ language }: PageFrame, scopes: readonly string[]): string[] {
  const order = Object.keys(language.messages.scope)
  const at = (scope: string) => (order.includes(scope) ? order.indexOf(scope) : order.length)
  return [...scopes].sort((a, b) => at(a) - at(b))
}

function scopeEntry(
  frame: PageFrame,
  scope: string,
  { texts = {}, drawing = 'check' }: { texts?: Readonly<Record<string, string>>; drawing?: IconName } = {},
): Html {
  return html`<li>${icon(drawing)}<span>${textIn(texts, scope) ?? scopeText(frame, scope)}</span></li>`
}

/** What a scope allows, in the language of the page. */
export function scopeText({ language, scopes }: PageFrame, scope: string): string {
  const { messages } = language
  return textIn(messages.scope, scope) ?? scopes?.text(scope, language.tag) ?? messages.scopeOther(scope)
}

function textIn(texts: Readonly<Record<string, string>>, scope: string): string | undefined {
  return Object.hasOwn(texts, scope) ? texts[scope] : undefined
}
