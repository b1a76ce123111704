/** Keys for every purpose, as a master key of zeros derives them: the same in every test and on every node. */
import { findMasterKey } from '../../packages/server/src/store/keys/master-key.ts'

export const deriveKey = findMasterKey('', Buffer.alloc(32))?.derive ?? (() => Buffer.alloc(32))
