"""What functions that are under way will do with a state that has just been read: the first loop without a round.

From the line of the read, statement by statement, through the functions that wait for it and those of the user's that
they will call. A branch is followed where its condition is known. None of the user's code is run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from types import FrameType, FunctionType, ModuleType
from typing import Any

from ..runtime import user_lines
from . import function_source, loop_bounds, loop_source, skipped_ranges
from .known_values import UNKNOWN, Attributes, Made, Values, in_class

_MAX_FRAMES = 8
_MAX_DEPTH = 4  # of calls
_MOST_STATEMENTS = 3000
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_RETURNED, _LEFT = "returned", "left"  # the function; the loop
_ENDED = "ended"  # the process, or nothing more is known


class Ahead:
    """`value`: what was read; UNKNOWN where the read has filled variables, and any counter may come from it."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.any_counter = value is UNKNOWN
        self.attributes = Attributes()
        self.found: loop_bounds.Bounded | None = None
        self.left = _MOST_STATEMENTS

    def follow(self, frame: FrameType | None, name: str) -> loop_bounds.Bounded | None:
        """From the frame's call of the function of this name on."""
        value, restored = self.value, True
        for _ in range(_MAX_FRAMES):
            if frame is None or self.found is not None:
                break
            scope = _Scope(self, frame.f_code.co_filename, loop_bounds.variables_of(frame))
            if scope.resume(frame, value, restored, name) == _ENDED:
                break
            value, restored, name = scope.returned, scope.returned_restored, frame.f_code.co_name
            if name == "__init__":
                value = scope.values.names.get(frame.f_code.co_varnames[0], UNKNOWN)
                restored, name = False, type(value).__name__
            outer = user_lines.caller(frame.f_back) if frame.f_back is not None else None
            if outer is not frame.f_back:  # a library is between them
                value, restored, name = UNKNOWN, False, ""
            frame = outer
        return self.found


class _Scope:
    """One function, from some statement on."""

    def __init__(self, ahead: Ahead, file: str, names: dict[str, Any], depth: int = 0) -> None:
        self._ahead, self._file, self._depth = ahead, file, depth
        self._results: dict[int, Any] = {}  # of calls that were followed, by the identity of their nodes
        self._restored_results: set[int] = set()
        self.values = Values(names, ahead.attributes, self._called)
        self.returned: Any = None
        self.returned_restored = False

    # -- where it is now ------------------------------------------------------------------------------------

    def resume(self, frame: FrameType, value: Any, restored: bool, name: str) -> str:
        """The call that the frame is in returns `value`."""
        if frame.f_code.co_name.startswith("<") and frame.f_code.co_name != "<module>":
            return ""  # a comprehension, a lambda: what becomes of it is not known
        body = function_source.function_around(loop_source.tree_of(self._file), frame.f_lineno)
        return self._resume(body, frame.f_lineno, (value, restored, name))

    def _resume(self, block: list[Any], line: int, result: tuple[Any, bool, str]) -> str:
        for at, node in enumerate(block):
            if not function_source.spans(node, line):
                continue
            inner = [
                one
                for one in loop_source.blocks(node)
                if any(function_source.spans(each, line) for each in one)
            ]
            if inner:
                end = self._resume(inner[0], line, result)
                end = end or self.walk(function_source.after(node, inner[0]))
                end = self._loop_over(node, end) if isinstance(node, _LOOPS) else end
            else:
                value, restored, name = result
                calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
                named = [
                    one for one in calls if not name or function_source.called_name(one) == name
                ] or calls
                if len(named) == 1:
                    self._results[id(named[0])] = value
                    if restored:
                        self._restored_results.add(id(named[0]))
                end = self.walk([node])
            return end or self.walk(block[at + 1 :])
        return _ENDED

    def _loop_over(self, loop: Any, end: str) -> str:
        if end == _LEFT:
            return ""
        if not end:
            self._forget([loop])  # there may be more rounds
        return end

    # -- statements -----------------------------------------------------------------------------------------

    def walk(self, block: Iterable[Any]) -> str:
        for node in block:
            self._ahead.left -= 1
            if self._ahead.left < 0 or self._ahead.found is not None:
                return _ENDED
            end = self._statement(node)
            if end:
                return end
        return ""

    def _statement(self, node: Any) -> str:
        if isinstance(node, function_source.SCOPES):
            self.values.names.pop(getattr(node, "name", ""), None)
            return ""
        if isinstance(node, _LOOPS):
            return self._loop(node)
        if isinstance(node, ast.If):
            return self._branch(node)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                self._read(item.context_expr)
                if item.optional_vars is not None:
                    self._assign(item.optional_vars, item.context_expr)
            return self.walk(node.body)
        if isinstance(node, ast.Try):
            return self.walk([*node.body, *node.orelse, *node.finalbody])
        if isinstance(node, (ast.Break, ast.Continue)):
            return _LEFT
        if isinstance(node, ast.Raise):
            return _ENDED
        return self._plain(node)

    def _plain(self, node: Any) -> str:
        self._read(node)
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._assign(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._assign(node.target, node.value)
        elif isinstance(node, ast.AugAssign):
            given = ast.copy_location(ast.BinOp(left=node.target, op=node.op, right=node.value), node)
            self._assign(node.target, given)
        elif isinstance(node, ast.Return):
            if node.value is not None:
                self.returned = self.values.of(node.value)
                self.returned_restored = self._is_restored(node.value)
            return _RETURNED
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            return _ENDED if function_source.called_name(node.value) in ("exit", "_exit", "quit") else ""
        return ""

    def _branch(self, node: ast.If) -> str:
        self._read(node.test)
        taken = self.values.truth(node.test)
        if taken is None:
            self._forget([*node.body, *node.orelse])
            return ""
        if taken and self._is_restored(node.test) and isinstance(node.body[-1], (ast.Return, ast.Expr)):
            return ""  # the script looks itself whether there is something to do
        return self.walk(node.body if taken else node.orelse)

    def _loop(self, loop: Any) -> str:
        self._read(loop.test if isinstance(loop, ast.While) else loop.iter)
        for one in skipped_ranges.conditions(loop):
            bounds = loop_bounds.described(one, self._file, self.values.names, self.values.number)
            if self._is_skipped(one, bounds):
                self._ahead.found = bounds
                return _ENDED
        if not isinstance(loop, ast.While):
            self._forget([loop.target])
        elif self.values.truth(loop.test) is False:
            return ""
        end = self.walk(loop.body)  # the first round
        return self._loop_over(loop, end)

    def _is_skipped(self, loop: Any, bounds: loop_bounds.Bounded) -> bool:
        if not skipped_ranges.is_skipped(loop, bounds):
            return False
        return self._ahead.any_counter or self._is_restored(loop_bounds.first_of(loop))

    # -- variables ------------------------------------------------------------------------------------------

    def _assign(self, target: Any, given: ast.expr) -> None:
        both = isinstance(target, (ast.Tuple, ast.List)) and isinstance(given, (ast.Tuple, ast.List))
        if both and len(target.elts) == len(given.elts):  # type: ignore[attr-defined]
            for one, value in zip(target.elts, given.elts):  # type: ignore[attr-defined]
                self._assign(one, value)
            return
        self._set(target, self.values.of(given), self._is_restored(given))

    def _set(self, target: Any, value: Any, restored: bool) -> None:
        values = self.values
        if isinstance(target, ast.Name):
            values.names[target.id] = value
            (values.restored.add if restored else values.restored.discard)(target.id)
        elif isinstance(target, ast.Attribute):
            owner = values.of(target.value)
            if owner is not UNKNOWN:
                self._ahead.attributes.set(owner, target.attr, value, restored=restored)
        elif isinstance(target, (ast.Tuple, ast.List)):
            fits = isinstance(value, (tuple, list)) and len(value) == len(target.elts)
            for one, part in zip(target.elts, value if fits else [UNKNOWN] * len(target.elts)):
                self._set(one, part, restored)
        elif isinstance(target, ast.Starred):
            self._set(target.value, UNKNOWN, False)

    def _forget(self, nodes: list[Any]) -> None:
        """What is assigned there may or may not be."""
        for one in [each for node in nodes for each in ast.walk(node)]:
            if isinstance(getattr(one, "ctx", None), ast.Store):
                self._set(one, UNKNOWN, False)

    def _is_restored(self, node: Any) -> bool:
        return self.values.is_restored(node, self._restored_results)

    # -- calls ----------------------------------------------------------------------------------------------

    def _read(self, node: Any) -> None:
        """The calls in it are made, whatever becomes of their results."""
        for one in function_source.made_calls(node):
            self.values.of(one)

    def _called(self, call: ast.Call) -> Any:
        if id(call) not in self._results:
            self._results[id(call)] = UNKNOWN
            if self._depth < _MAX_DEPTH and self._ahead.found is None:
                self._results[id(call)] = self._follow(call)
        return self._results[id(call)]

    def _follow(self, call: ast.Call) -> Any:
        called = self.values.of(call.func)
        owner: tuple[Any, ...] = ()
        if isinstance(call.func, ast.Attribute):
            found = self.values.of(call.func.value)
            owner = () if isinstance(found, ModuleType) else (found,)
        if isinstance(called, type):
            return self._construct(called, call)
        if not isinstance(called, FunctionType):
            return UNKNOWN
        scope = self._inside(called, owner, call)
        if scope is None:
            return UNKNOWN
        if scope.returned_restored:
            self._restored_results.add(id(call))
        return scope.returned

    def _construct(self, kind: type, call: ast.Call) -> Any:
        named: Any = getattr(kind, "__dataclass_fields__", None) or getattr(kind, "_fields", ())
        fields = list(named)
        function = in_class(kind, "__init__")
        made = Made(kind)
        if fields:
            given = [*zip(fields, call.args), *((word.arg, word.value) for word in call.keywords if word.arg)]
            for name, node in given:
                self._ahead.attributes.set(
                    made, str(name), self.values.of(node), restored=self._is_restored(node)
                )
            return made
        if isinstance(function, FunctionType) and user_lines.is_user_file(function.__code__.co_filename):
            self._inside(function, (made,), call)
            return made
        return UNKNOWN

    def _inside(self, function: Any, owner: tuple[Any, ...], call: ast.Call) -> _Scope | None:
        """The function as it will be called, to its end; None where it has no source of the user's."""
        code = function.__code__
        node = function_source.function_at(code.co_filename, code.co_firstlineno, code.co_name)
        plain = not any(isinstance(one, ast.Starred) for one in call.args)
        if node is None or not plain or code.co_flags & 0x20:  # a generator
            return None
        names, parameters = function_source.variables(function)
        scope = _Scope(self._ahead, code.co_filename, names, self._depth + 1)
        names.update(zip(parameters, owner))
        given = [*zip(parameters[len(owner) :], call.args)]
        given += [(word.arg, word.value) for word in call.keywords if word.arg]
        for name, expression in given:
            names[name] = self.values.of(expression)
            if self._is_restored(expression):
                scope.values.restored.add(name)
        if scope.walk(node.body) == _ENDED:
            scope.returned = UNKNOWN
        return scope
