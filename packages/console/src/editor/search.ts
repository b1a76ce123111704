/** Search in the text of the editor. It is loaded with the first Ctrl-F. */
import { type Extension, StateEffect, StateField } from '@codemirror/state'
import { type EditorView, keymap } from '@codemirror/view'

/** A state that has it can search. */
const isLoaded = StateField.define<true>({ create: () => true, update: (value) => value })

export const searchOnDemand: Extension = keymap.of([
  {
    key: 'Mod-f',
    run(view) {
      void openSearch(view)
      return true
    },
  },
])

async function openSearch(view: EditorView): Promise<void> {
  const { highlightSelectionMatches, openSearchPanel, search, searchKeymap } = await import('@codemirror/search')
  // Another tab is another state.
  if (view.state.field(isLoaded, false) === undefined)
    view.dispatch({
      effects: StateEffect.appendConfig.of([
        isLoaded,
        highlightSelectionMatches(),
        search({ top: true }),
        keymap.of(searchKeymap),
      ]),
    })
  openSearchPanel(view)
}
