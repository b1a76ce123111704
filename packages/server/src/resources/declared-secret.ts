/** A secret as a file declares it: the value itself, or where it is. */
import type { XStatic } from 'typebox/schema'
import { closed, either, text } from '../schema/builders.ts'

export type DeclaredSecret = XStatic<typeof SECRET>

export const SECRET = either(
  text({ minLength: 1, description: 'The value itself.' }),
  closed(['env'], { env: text({ minLength: 1, description: 'The name of an environment variable with the value.' }) }),
  closed(['file'], {
    file: text({
      minLength: 1,
      description: 'Path of a file with the value, relative to this file; one trailing line break is removed.',
    }),
  }),
)
