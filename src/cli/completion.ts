import { Argument, type Command } from 'commander';

/** `fanfare completion bash|zsh|fish`: what a shell sources to complete commands, options and their choices. */
export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .description('print what makes a shell complete the commands')
    .addArgument(new Argument('<shell>', 'which shell').choices(Object.keys(SHELLS)))
    .action((shell: keyof typeof SHELLS) => {
      process.stdout.write(SHELLS[shell](completionsOf(program)));
    });
}

/** Words that may follow, by the commands in front of them: `''`, `campaign`, `campaign create`. */
type Completions = Map<string, string[]>;

function completionsOf(command: Command, path = ''): Completions {
  const found: Completions = new Map();
  const subcommands = command.commands.filter((one) => one.name() !== 'help');
  const options = command.options.flatMap(({ long }) => long ?? []);
  const choices = [
    ...command.options.flatMap(({ argChoices }) => argChoices ?? []),
    ...command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
  ];
  const words = [...subcommands.map((one) => one.name()), ...options, ...choices, '--help'];
  found.set(path, [...new Set(words)]);
  for (const one of subcommands) {
    const inner = path === '' ? one.name() : `${path} ${one.name()}`;
    for (const [at, next] of completionsOf(one, inner)) found.set(at, next);
  }
  return found;
}

const SHELLS = { bash, zsh, fish };

const pathsOf = (completions: Completions) => [...completions.keys()].filter((path) => path !== '');

/** Names of commands and options have no characters that a shell would take for its own. */
function bash(completions: Completions): string {
  return `# source <(fanfare completion bash)
_fanfare() {
  local path="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${path:+$path }$word" in
      ${pathsOf(completions)
        .map((path) => `"${path}"`)
        .join('|')}) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path" in
${[...completions].map(([path, words]) => `    "${path}") words="${words.join(' ')}" ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _fanfare fanfare
`;
}

function zsh(completions: Completions): string {
  return `#compdef fanfare
# source <(fanfare completion zsh)
_fanfare() {
  local path_of="" word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${path_of:+$path_of }$word" in
      (${pathsOf(completions)
        .map((path) => `"${path}"`)
        .join('|')}) path_of="\${path_of:+$path_of }$word" ;;
    esac
  done
  case "$path_of" in
${[...completions].map(([path, words]) => `    ("${path}") compadd -- ${words.join(' ')} ;;`).join('\n')}
  esac
  _files
}
compdef _fanfare fanfare
`;
}

function fish(completions: Completions): string {
  const paths = pathsOf(completions);
  return `# fanfare completion fish | source
function __fanfare_path
  set -l path ""
  for word in (commandline -opc)[2..-1]
    set -l next (string trim -- "$path $word")
    if contains -- "$next" ${paths.map((path) => `"${path}"`).join(' ')}
      set path "$next"
    end
  end
  echo -- "$path"
end
${[...completions]
  .map(
    ([path, words]) => `complete -c fanfare -n 'test (__fanfare_path) = "${path}"' -a '${words.join(' ')}'`,
  )
  .join('\n')}
`;
}
