import { dirname } from 'node:path';
import ts from 'typescript';

const { options, root } = projectOptions();

/** What the compiler says against these files, under the project's own strict settings. Each file counts as a module. */
export function typeErrors(files: readonly string[]): string[] {
  const program = ts.createProgram(files, { ...options, moduleDetection: ts.ModuleDetectionKind.Force });
  return files.flatMap((file) => {
    const source = program.getSourceFile(file);
    if (!source) return [`${file} is not there`];
    const diagnostics = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    return diagnostics.map(({ start = 0, messageText }) => {
      const { line } = source.getLineAndCharacterOfPosition(start);
      return `${file}:${line + 1}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
    });
  });
}

/** Reads the names of the properties of types that a file exports, inherited ones included. */
export function propertyReader(file: string): (type: string) => string[] {
  const program = ts.createProgram([file], options);
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(file)!)!;
  const exported = new Map(checker.getExportsOfModule(module).map((symbol) => [symbol.name, symbol]));
  return (type) => {
    const symbol = exported.get(type);
    if (!symbol) throw new Error(`${file} does not export ${type}`);
    const original = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    return checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(original)).map(({ name }) => name);
  };
}

function projectOptions(): { options: ts.CompilerOptions; root: string } {
  const path = ts.findConfigFile(import.meta.dirname, (file) => ts.sys.fileExists(file), 'tsconfig.json')!;
  const { config } = ts.readConfigFile(path, (file) => ts.sys.readFile(file)) as { config: object };
  const root = dirname(path);
  // Only the settings are wanted, not the list of the project's files.
  const parsed = ts.parseJsonConfigFileContent({ ...config, include: [], files: ['package.json'] }, ts.sys, root);
  return { options: parsed.options, root };
}

export { root };
