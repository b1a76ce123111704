/** The schemas of arguments that several tools have: without references and composition, which many clients cannot read. */
import { text } from '../../schema/builders.ts'

export const MAX_ROWS = 2_000

export const STATEMENT = text({ minLength: 1, maxLength: 131_072, description: 'One IQL statement that reads.' })
export const PARAMETERS = {
  type: 'object',
  description: 'Values of the parameters by name without the colon; $1 has the name 1.',
} as const
export const MOST_ROWS = {
  type: 'integer',
  minimum: 1,
  maximum: MAX_ROWS,
  description: 'How many rows at most; 200 where absent.',
} as const
export const AFTER = text({ maxLength: 1024, description: 'From the last result: what follows it.' })
export const FORMAT = {
  type: 'string',
  enum: ['text', 'json'],
  description: 'json: also as structured content, with all digits. Default: text.',
} as const

export function object(required: readonly string[], properties: object) {
  return { type: 'object', properties, required, additionalProperties: false } as const
}
