/** Search in the text of the editor. It is loaded with the first Ctrl-F. */
import type { Extension } from '@codemirror/state'
import { keymap } from '@codemirror/view'

export const searchOnDemand: Extension = keymap.of([
  {
    key: 'Mod-f',
    run(view) {
      void import('./search-panel.ts').then(({ openSearch }) => openSearch(view))
      return true
    },
  },
])
