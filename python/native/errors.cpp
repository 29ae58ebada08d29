// errors.cpp: translates the errors of holdfast/error.hpp to the classes of holdfastdb/errors.py.
#include "holdfast/error.hpp"
#include "native.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace holdfast::python {
namespace {

// The dict of classes by name; lives as long as the process. Until errors.py hands it over, errors are RuntimeErrors.
PyObject* classes = nullptr;

void raise(const char* name, const std::exception& error) {
  PyObject* const type = classes ? PyDict_GetItemString(classes, name) : nullptr;  // borrowed
  PyErr_SetString(type ? type : PyExc_RuntimeError, error.what());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const InvalidArgument& e) {
    raise("InvalidArgument", e);
  } catch (const PoolNotFound& e) {
    raise("PoolNotFound", e);
  } catch (const PoolExists& e) {
    raise("PoolExists", e);
  } catch (const PoolInUse& e) {
    raise("PoolInUse", e);
  } catch (const ObjectNotFound& e) {
    raise("ObjectNotFound", e);
  } catch (const ObjectExists& e) {
    raise("ObjectExists", e);
  } catch (const ObjectInUse& e) {
    raise("ObjectInUse", e);
  } catch (const PoolCorrupt& e) {
    raise("PoolCorrupt", e);
  } catch (const PoolVersion& e) {
    raise("PoolVersion", e);
  } catch (const PoolMismatch& e) {
    raise("PoolMismatch", e);
  } catch (const PowerLost& e) {
    raise("PowerLost", e);
  } catch (const NoSpace& e) {
    raise("NoSpace", e);
  } catch (const MediumError& e) {
    raise("MediumError", e);
  } catch (const DeviceError& e) {
    raise("DeviceError", e);
  } catch (const ObjectClosed& e) {
    raise("ObjectClosed", e);
  } catch (const ReadOnly& e) {
    raise("ReadOnly", e);
  } catch (const InputError& e) {
    raise("InputError", e);
  } catch (const SystemError& e) {
    raise("SystemError", e);
  } catch (const Error& e) {
    raise("Error", e);
  }
}

using ByName = nb::typed<nb::dict, nb::str, nb::typed<nb::type_object, nb::any>>;

void use_errors(const ByName& given) {
  PyObject* const former = classes;
  classes = given.inc_ref().ptr();
  Py_XDECREF(former);
}

}  // namespace

nb::object python_error_of(const std::exception_ptr& thrown) {
  translate(thrown, nullptr);
  return nb::borrow(nb::python_error().value());
}

void bind_errors(nb::module_& module) {
  module.def("use_errors", &use_errors, "classes"_a, "The exception classes to raise, by their names in C++.");
  nb::register_exception_translator(translate);
}

}  // namespace holdfast::python
