/** Reads the forms of an HTML page the way a person without script would see them. */

export interface Field {
  readonly name: string
  readonly type: string
  readonly value: string
  readonly checked: boolean
}

export interface Button {
  readonly name: string | undefined
  readonly value: string
  readonly label: string
}

export interface Form {
  readonly action: URL
  readonly method: 'GET' | 'POST'
  readonly id: string | undefined
  /** Everything but buttons, in the order of the page. */
  readonly fields: readonly Field[]
  readonly buttons: readonly Button[]
}

export function readForms(html: string, pageUrl: URL): Form[] {
  const forms: Form[] = []
  for (const [, attributes = '', content = ''] of html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/gi)) {
    const { action, method, id } = readAttributes(attributes)
    forms.push({
      action: new URL(action ?? pageUrl.href, pageUrl),
      method: method?.toLowerCase() === 'post' ? 'POST' : 'GET',
      id,
      fields: readFields(content),
      buttons: [...readButtons(content), ...(id === undefined ? [] : readButtons(html, id))],
    })
  }
  return forms
}

/** What the browser would send: hidden and filled fields, checked boxes, and the pressed button. */
export function formValues(
  form: Form,
  filled: Readonly<Record<string, string>>,
  pressed?: Button,
): [name: string, value: string][] {
  const values: [string, string][] = []
  for (const field of form.fields) {
    if (field.name === '') continue
    const chosen = filled[field.name]
    if (field.type === 'checkbox' || field.type === 'radio') {
      if (chosen === undefined ? field.checked : chosen === field.value) values.push([field.name, field.value])
    } else values.push([field.name, chosen ?? field.value])
  }
  if (pressed?.name !== undefined) values.push([pressed.name, pressed.value])
  return values
}

export function decodeEntities(text: string): string {
  return text.replace(/&(#x[0-9a-f]+|#\d+|[a-z]+);/gi, (whole, name: string) => {
    if (name.startsWith('#x') || name.startsWith('#X')) return String.fromCodePoint(Number.parseInt(name.slice(2), 16))
    if (name.startsWith('#')) return String.fromCodePoint(Number(name.slice(1)))
    return NAMED_ENTITIES[name.toLowerCase()] ?? whole
  })
}

const NAMED_ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
}

function readFields(content: string): Field[] {
  const fields: Field[] = []
  for (const [, attributes = '', options = ''] of content.matchAll(/<select\b([^>]*)>([\s\S]*?)<\/select>/gi)) {
    const { name = '' } = readAttributes(attributes)
    fields.push({ name, type: 'select', value: selectedValue(options), checked: false })
  }
  for (const [, attributes = ''] of content.matchAll(/<input\b((?:"[^"]*"|'[^']*'|[^>"'])*)>/gi)) {
    const found = readAttributes(attributes)
    const type = found.type?.toLowerCase() ?? 'text'
    if (type === 'submit' || type === 'button' || type === 'image') continue
    const fallback = type === 'checkbox' || type === 'radio' ? 'on' : ''
    fields.push({ name: found.name ?? '', type, value: found.value ?? fallback, checked: found.checked !== undefined })
  }
  return fields
}

/** The value of the selected option, or of the first. */
function selectedValue(content: string): string {
  const options = [...content.matchAll(/<option\b([^>]*)>/gi)].map(([, attributes = '']) => readAttributes(attributes))
  return (options.find(({ selected }) => selected !== undefined) ?? options[0])?.value ?? ''
}

/** The targets of the links of a page below a path, in order. */
export function linksTo(html: string, path: string): string[] {
  const targets = [...html.matchAll(/<a\b([^>]*)>/gi)].map(
    ([, attributes = '']) => readAttributes(attributes).href ?? '',
  )
  return targets.filter((target) => target.split('?', 1)[0] === path)
}

/** The buttons in the content of a form or, given the form's id, those elsewhere on the page that belong to it. */
function readButtons(content: string, owner?: string): Button[] {
  const buttons: Button[] = []
  for (const [, attributes = '', label = ''] of content.matchAll(
    /<button\b((?:"[^"]*"|'[^']*'|[^>"'])*)>([\s\S]*?)<\/button>/gi,
  )) {
    const { name, value, type, form } = readAttributes(attributes)
    if (type === 'button' || form !== owner) continue
    buttons.push({ name, value: value ?? '', label: decodeEntities(label.replace(/<[^>]*>/g, '')).trim() })
  }
  for (const [, attributes = ''] of content.matchAll(/<input\b((?:"[^"]*"|'[^']*'|[^>"'])*)>/gi)) {
    const { name, value, type, form } = readAttributes(attributes)
    if (type?.toLowerCase() === 'submit' && form === owner)
      buttons.push({ name, value: value ?? '', label: value ?? '' })
  }
  return buttons
}

export function readAttributes(text: string): Record<string, string | undefined> {
  const attributes: Record<string, string | undefined> = {}
  for (const [, name = '', quoted, single, bare] of text.matchAll(
    /([^\s"'=<>/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g,
  )) {
    attributes[name.toLowerCase()] = decodeEntities(quoted ?? single ?? bare ?? '')
  }
  return attributes
}
