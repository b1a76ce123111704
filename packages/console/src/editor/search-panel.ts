/** The panel that searches in the text of the editor. */
import { highlightSelectionMatches, openSearchPanel, search, searchKeymap } from '@codemirror/search'
import { EditorState, StateEffect, StateField } from '@codemirror/state'
import { type EditorView, keymap } from '@codemirror/view'
import { word } from '../ui/word.ts'

/** A state that has it can search. */
const isLoaded = StateField.define<true>({ create: () => true, update: (value) => value })

/** What the panel says, by the words of CodeMirror. */
const PHRASES = {
  Find: word('Find'),
  Replace: word('Replace'),
  next: word('next'),
  previous: word('previous'),
  all: word('all'),
  'match case': word('match case'),
  'by word': word('by word'),
  regexp: word('regexp'),
  replace: word('replace'),
  'replace all': word('replace all'),
  close: word('close'),
  'current match': word('current match'),
  'replaced $ matches': word('replaced $ matches'),
  'replaced match on line $': word('replaced match on line $'),
  'on line': word('on line'),
  'Go to line': word('Go to line'),
  go: word('go'),
}

export function openSearch(view: EditorView): void {
  // Another tab is another state.
  if (view.state.field(isLoaded, false) === undefined)
    view.dispatch({
      effects: StateEffect.appendConfig.of([
        isLoaded,
        EditorState.phrases.of(PHRASES),
        highlightSelectionMatches(),
        search({ top: true }),
        keymap.of(searchKeymap),
      ]),
    })
  openSearchPanel(view)
}
