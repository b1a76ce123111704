/** Names as statements write them: quoted where they must be. */
import { RESERVED } from 'gatehouse-iql'

export function printed(name: string): string {
  return /^[\p{L}_][\p{L}\p{N}\p{M}_]*$/u.test(name) && !RESERVED.has(name.toLowerCase())
    ? name
    : `"${name.replaceAll('"', '""')}"`
}
