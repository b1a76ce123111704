/** The words in which a JSON Schema is written here; the types keep enough of it to tell the type of its values. */

interface Noted {
  readonly description?: string
}

export function text(
  options: Noted & { readonly [keyword in 'pattern']?: string } & {
    readonly [keyword in 'minLength' | 'maxLength']?: number
  } = {},
) {
  return { type: 'string', ...options } as const
}

export function number<const Kind extends 'integer' | 'number'>(
  type: Kind,
  options: Noted & { readonly [keyword in 'minimum' | 'maximum']?: number } = {},
) {
  return { type, ...options } as const
}

export function flag(description?: string) {
  return { type: 'boolean', ...noted(description) } as const
}

export function list<const Items>(items: Items, description?: string) {
  return { type: 'array', items, ...noted(description) } as const
}

export function oneOf<const Values extends readonly string[]>(values: Values, description?: string) {
  return { enum: values, ...noted(description) } as const
}

export function either<const Branches extends readonly unknown[]>(...anyOf: Branches) {
  return { anyOf } as const
}

/** An unknown member is a mistake, never ignored. */
export function closed<const Required extends readonly string[], const Properties extends object>(
  required: Required,
  properties: Properties,
) {
  return { type: 'object', required, properties, additionalProperties: false } as const
}

function noted(description: string | undefined): Noted {
  return description === undefined ? {} : { description }
}
