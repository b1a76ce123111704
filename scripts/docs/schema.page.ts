/** docs/gatehouse.schema.json: the JSON Schema of the declarative file. */
import { declarationJsonSchema } from '../../packages/server/src/declarative/json-schema.ts'
import type { GeneratedPage } from './page.ts'

export const page: GeneratedPage = {
  path: 'docs/gatehouse.schema.json',
  render: () => `${JSON.stringify(declarationJsonSchema(), null, 2)}\n`,
}
