/** Builders of JSON Schema. Their types are narrow enough for XStatic to derive the type of a value. */

interface Described {
  readonly description?: string
}

export function text(
  options: Described & { readonly [keyword in 'pattern']?: string } & {
    readonly [keyword in 'minLength' | 'maxLength']?: number
  } & { readonly examples?: readonly string[] } = {},
) {
  return { type: 'string', ...options } as const
}

export function number<const Kind extends 'integer' | 'number'>(
  type: Kind,
  options: Described & { readonly [keyword in 'minimum' | 'maximum']?: number } = {},
) {
  return { type, ...options } as const
}

export function flag(description?: string) {
  return { type: 'boolean', ...described(description) } as const
}

export function list<const Items>(items: Items, description?: string) {
  return { type: 'array', items, ...described(description) } as const
}

/** A list inside of a role, user or client. */
export function shortList<const Items>(items: Items, description?: string) {
  return { ...list(items, description), maxItems: 1000 } as const
}

export function oneOf<const Values extends readonly string[]>(values: Values, description?: string) {
  return { enum: values, ...described(description) } as const
}

export function either<const Branches extends readonly unknown[]>(...anyOf: Branches) {
  return { anyOf } as const
}

/** Unknown members are errors. */
export function closed<const Required extends readonly string[], const Properties extends object>(
  required: Required,
  properties: Properties,
) {
  return { type: 'object', required, properties, additionalProperties: false } as const
}

function described(description: string | undefined): Described {
  return description === undefined ? {} : { description }
}

export function words(description?: string) {
  return text({ minLength: 1, maxLength: 4096, ...(description === undefined ? {} : { description }) })
}
